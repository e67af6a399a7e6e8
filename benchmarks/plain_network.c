/* A Gibbs sweep over the vertices of a network in plain C: the yardstick for the block model.
 *
 * The degree-corrected Poisson block model with parameters integrated out and a Dirichlet process; simple graphs
 * without loops. Blocks keep the slot they got when they appeared, so one that disappears moves no row of the edge
 * counts; `order` lists the slots in order of creation, which is the order in which the draw looks at them. A block
 * that does not exist is a slot of size 0 with no edges, so the weight of a new block needs no formula of its own. The
 * vertex stays inside its block: what its absence changes (one row and one column of the edge counts) is computed in
 * passing, and nothing is written unless it moves.
 *
 * The loops run over the blocks of neighbours and, inside, over all candidates side by side: 0 to 50 % faster than
 * candidates one by one. Compiled with -O3 -march=native -ffast-math, and called through ctypes.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double LOG_2 = 0.69314718055994530942, NEVER = -1e300;

static inline uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline double uniform(uint64_t *s) {
    uint64_t result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return (double)(result >> 11) * 0x1p-53;
}

/* starts, neighbours: the graph, row by row; lf: log factorials up to 2 edges + vertices; log_squares: 2 log of all
 * sizes; log_alpha, log_rate: log of the concentration, and of 1 + the prior mean of an edge rate; capacity: how many
 * slots there are. Changed in place: labels (slots), state, candidates (to which the number of candidates looked at is
 * added) and, if not null, trace: the log weights of each vertex in the last sweep, blocks in order of creation and the
 * new one last. Returns the number of blocks, or -1 where the slots do not suffice. */
int64_t sweeps(int64_t how_many, int64_t n, const int64_t *restrict starts, const int32_t *restrict neighbours,
               const double *restrict lf, const double *restrict log_squares, double log_alpha, double log_rate,
               int64_t capacity, int32_t *restrict labels, uint64_t *restrict state, int64_t *restrict candidates,
               double *restrict trace) {
    const int64_t width = capacity;
    int32_t *restrict edges = calloc(capacity * width, sizeof(int32_t)); /* between blocks; once inside of one */
    int32_t *restrict tally = calloc(capacity, sizeof(int32_t));         /* neighbours of the vertex in each block */
    int32_t *restrict touched = calloc(capacity + 1, sizeof(int32_t));   /* blocks with neighbours of the vertex */
    int32_t *restrict sizes = calloc(capacity, sizeof(int32_t));
    int32_t *restrict ends = calloc(capacity, sizeof(int32_t)); /* degrees + size of a block */
    int32_t *restrict order = calloc(capacity + 1, sizeof(int32_t));
    double *restrict bases = malloc(capacity * sizeof(double)); /* 2 log n_r + log (D_r + n_r - 1)! */
    double *restrict weights = malloc(capacity * sizeof(double));
    int64_t count = 0, result = 0;

    for (int64_t i = 0; i < n; i++) {
        sizes[labels[i]]++;
        ends[labels[i]] += 1 + (int32_t)(starts[i + 1] - starts[i]);
        for (int64_t j = starts[i]; j < starts[i + 1]; j++)
            if (labels[neighbours[j]] != labels[i] || i < neighbours[j])
                edges[labels[i] * width + labels[neighbours[j]]]++;
    }
    for (int64_t i = 0; i < capacity; i++) bases[i] = sizes[i] ? log_squares[sizes[i]] + lf[ends[i] - 1] : NEVER;
    for (int64_t i = 0; i < n; i++) { /* blocks in order of their first vertices */
        int64_t at = 0;
        while (at < count && order[at] != labels[i]) at++;
        if (at == count) order[count++] = labels[i];
    }
    int64_t fresh = 0, used = 0; /* the slot of the next new block; all slots above are free */
    for (int64_t i = 0; i < count; i++)
        if (order[i] >= used) used = order[i] + 1;
    while (fresh < capacity && sizes[fresh]) fresh++;
    if (fresh >= used) used = fresh + 1;
    if (used > capacity) result = -1;

    for (int64_t sweep = 0; sweep < how_many && result == 0; sweep++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t own = labels[i];
            const int32_t degree = (int32_t)(starts[i + 1] - starts[i]);
            int64_t n_touched = 0;
            for (int64_t j = starts[i]; j < starts[i + 1]; j++) {
                int32_t slot = labels[neighbours[j]];
                touched[n_touched] = slot; /* without a branch: most are there already */
                n_touched += tally[slot]++ == 0;
            }

            /* The free slot stands for the new block, or the vertex' own where it is alone. */
            const int alone = sizes[own] == 1;
            const int64_t blank = alone ? own : fresh;
            const double log_new = log_alpha - (double)(count - alone + 1) * log_rate;
            const int32_t *row = edges + own * width;
            bases[fresh] = alone ? NEVER : log_new;

            for (int64_t c = 0; c < used; c++) weights[c] = bases[c] - lf[ends[c] + degree] + LOG_2 * tally[c];
            for (int64_t t = 0; t < n_touched; t++) {
                const int64_t slot = touched[t];
                const int32_t extra = tally[slot];
                if (slot == own) {
                    for (int64_t c = 0; c < used; c++) {
                        int32_t there = row[c] - tally[c];
                        weights[c] += lf[there + extra] - lf[there];
                    }
                } else {
                    const int32_t *restrict line = edges + slot * width;
                    for (int64_t c = 0; c < used; c++) weights[c] += lf[line[c] + extra] - lf[line[c]];
                }
            }
            double mine = LOG_2 * tally[own] - lf[ends[own] - 1];
            for (int64_t t = 0; t < n_touched; t++) {
                const int64_t slot = touched[t];
                mine += lf[row[slot]] - lf[row[slot] - tally[slot]];
            }
            const int32_t before = ends[own] - degree - 1;
            mine += alone ? log_new : log_squares[sizes[own] - 1] + lf[before - 1];
            weights[own] = mine;

            double top = NEVER;
            for (int64_t c = 0; c < used; c++) top = weights[c] > top ? weights[c] : top;
            if (trace && sweep == how_many - 1) {
                double *restrict line = trace + i * capacity;
                int64_t at = 0;
                for (int64_t c = 0; c < count; c++)
                    if (order[c] != blank) line[at++] = weights[order[c]];
                line[at] = weights[blank];
            }
            double total = 0.0;
            for (int64_t c = 0; c < used; c++) {
                weights[c] = exp(weights[c] - top);
                total += weights[c];
            }
            *candidates += count - alone + 1;
            if (alone) { /* its block is the new one now, and comes last */
                int64_t at = 0;
                while (order[at] != own) at++;
                memmove(order + at, order + at + 1, (count - at - 1) * sizeof(int32_t));
                count--;
            }
            order[count] = (int32_t)blank;
            double level = uniform(state) * total;
            int64_t place = 0;
            while (place < count && (level -= weights[order[place]]) >= 0.0) place++;
            const int64_t chosen = order[place];
            if (chosen == blank) count++;
            if (chosen != own) {
                int32_t *from = edges + own * width, *to = edges + chosen * width;
                labels[i] = (int32_t)chosen;
                for (int64_t t = 0; t < n_touched; t++) {
                    const int64_t slot = touched[t];
                    from[slot] -= tally[slot];
                    if (slot != own) edges[slot * width + own] -= tally[slot];
                }
                for (int64_t t = 0; t < n_touched; t++) {
                    const int64_t slot = touched[t];
                    to[slot] += tally[slot];
                    if (slot != chosen) edges[slot * width + chosen] += tally[slot];
                }
                sizes[own]--;
                ends[own] -= degree + 1;
                sizes[chosen]++;
                ends[chosen] += degree + 1;
                bases[own] = sizes[own] ? log_squares[sizes[own]] + lf[ends[own] - 1] : NEVER;
                bases[chosen] = log_squares[sizes[chosen]] + lf[ends[chosen] - 1];
                if (chosen == blank || alone) { /* which slot is free next */
                    bases[fresh] = sizes[fresh] ? bases[fresh] : NEVER;
                    fresh = 0;
                    while (fresh < capacity && sizes[fresh]) fresh++;
                    used = fresh + 1;
                    for (int64_t c = 0; c < count; c++)
                        if (order[c] >= used) used = order[c] + 1;
                    if (used > capacity) result = -1;
                }
            }
            for (int64_t t = 0; t < n_touched; t++) tally[touched[t]] = 0;
            if (result) break;
        }
    }
    free(edges), free(tally), free(touched), free(sizes), free(ends), free(order), free(bases), free(weights);
    return result ? result : count;
}
