"""Block models of networks: what is counted between blocks, the distributions of edges, the class."""
