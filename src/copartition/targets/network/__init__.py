"""Block models of networks: what is counted between blocks, the laws of edges, the class."""
