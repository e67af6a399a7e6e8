"""Points join and leave clusters. All functions here change the `Place` that they are given, and nothing else.

The members of a cluster lie side by side, so that a loop over them is tight. A point that comes or goes makes one
member of each later cluster change places.
"""

from __future__ import annotations

from copartition.core.compiling import inner, outline


@inner
def choices(place):
    """Return how many clusters a point may join: those there are, and a new one if there may be one."""
    count = place.n_clusters[0]
    return count + 1 if count < len(place.sizes) else count


@inner
def seat(place, i, position):
    """Write point i to a place in the list of members."""
    place.members[position] = i
    place.position[i] = position


@inner
def put_in(problem, loss, place, i, k):
    """Put point i, which is in no cluster, into cluster k, which may be the new one."""
    s = place
    first = s.first
    if k == s.n_clusters[0]:
        s.n_clusters[0] += 1
        first[k + 1] = first[k]
    count = s.n_clusters[0]
    hole = first[count]
    seat(place, s.members[hole], s.position[i])
    first[count] += 1
    for later in range(count - 1, k, -1):
        if first[later] != hole:  # an empty cluster has nobody to change places
            seat(place, s.members[first[later]], hole)
            hole = first[later]
        first[later] += 1
    seat(place, i, hole)
    s.labels[i] = k
    s.sizes[k] += 1
    loss.shift(problem, place, i, k, 1)


@inner
def take_out(problem, loss, place, i):
    """Take point i out of its cluster, which stays even if it is empty then."""
    s = place
    first = s.first
    k = s.labels[i]
    hole = s.position[i]
    for later in range(k, s.n_clusters[0]):
        last = first[later + 1] - 1
        if last != hole:
            seat(place, s.members[last], hole)
            hole = last
        first[later + 1] = last
    seat(place, i, hole)
    s.labels[i] = -1
    s.sizes[k] -= 1
    loss.shift(problem, place, i, k, -1)


@inner
def rename(problem, loss, place, a, b):
    """Let the points of cluster a join cluster b."""
    s = place
    for position in range(s.first[a], s.first[a + 1]):
        s.labels[s.members[position]] = b
    s.sizes[b] += s.sizes[a]
    s.sizes[a] = 0
    # All points are in a cluster: `first` counts how many of each are seated while they take their seats.
    s.first[0] = 0
    for k in range(s.n_clusters[0]):
        s.first[k + 1] = s.first[k] + s.sizes[k]
    for i in range(len(s.labels)):
        seat(place, i, s.first[s.labels[i]])
        s.first[s.labels[i]] += 1
    for k in range(s.n_clusters[0] - 1, 0, -1):
        s.first[k] = s.first[k - 1]
    s.first[0] = 0
    loss.fold(problem, place, a, b)


@outline
def dissolve(problem, loss, place, a, b):
    """Let the points of cluster a, if it has any, join cluster b; the last cluster gets the number a."""
    s = place
    last = s.n_clusters[0] - 1
    if s.sizes[a] > 0:
        rename(problem, loss, place, a, b)
    if a != last:
        rename(problem, loss, place, last, a)
    s.n_clusters[0] = last


@inner
def move(problem, loss, place, i, k):
    """Move point i to cluster k, which may be the new one; a cluster that is empty then disappears."""
    before = place.labels[i]
    take_out(problem, loss, place, i)
    put_in(problem, loss, place, i, k)
    if place.sizes[before] == 0:
        dissolve(problem, loss, place, before, k)
