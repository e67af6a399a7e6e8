/* A single Gibbs sweep in plain C: the yardstick for the compiled kernels.
 *
 * Same model (Gaussian clusters with known variances, Dirichlet process), same arithmetic (tables by cluster size, one
 * pass over the dimensions per cluster, a draw from unnormalised weights), same generator (xoshiro256++). Clusters are
 * numbered in order of creation here too. Compiled with -O3 -march=native -ffast-math, the number of columns a
 * constant (-DCOLUMNS=50), and called through ctypes.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* points: n x d in units of the noise; table: for each size log normaliser + log size, shrinkage, half precision;
 * log_new: log(alpha) + log normaliser of size 0. State (labels, sizes, sums, count) is changed in place. */
int64_t sweeps(int64_t how_many, int64_t n, const double *restrict points, const double *restrict table,
               double log_new, int64_t capacity, int64_t *restrict labels, int64_t *restrict sizes,
               double *restrict sums, int64_t count, uint64_t *restrict state) {
    const int64_t d = COLUMNS;
    double *restrict weights = malloc(capacity * sizeof(double));
    for (int64_t sweep = 0; sweep < how_many; sweep++) {
        for (int64_t i = 0; i < n; i++) {
            const double *restrict x = points + i * d;
            int64_t k = labels[i];
            double *restrict s = sums + k * d;
            sizes[k]--;
            for (int64_t j = 0; j < d; j++) s[j] -= x[j];
            if (sizes[k] == 0) {
                memmove(sums + k * d, sums + (k + 1) * d, (count - k - 1) * d * sizeof(double));
                memmove(sizes + k, sizes + k + 1, (count - k - 1) * sizeof(int64_t));
                count--;
                for (int64_t j = 0; j < n; j++) labels[j] -= labels[j] > k;
            }
            double top = -INFINITY;
            sizes[count] = 0;
            memset(sums + count * d, 0, d * sizeof(double));
            for (int64_t c = 0; c <= count; c++) {
                const double *restrict row = table + 3 * sizes[c], *restrict sum = sums + c * d;
                double squares = 0.0;
                for (int64_t j = 0; j < d; j++) {
                    double difference = x[j] - row[1] * sum[j];
                    squares += difference * difference;
                }
                weights[c] = (c < count ? row[0] : log_new) - row[2] * squares;
                if (weights[c] > top) top = weights[c];
            }
            double total = 0.0;
            for (int64_t c = 0; c <= count; c++) {
                weights[c] = exp(weights[c] - top);
                total += weights[c];
            }
            double level = uniform(state) * total;
            int64_t chosen = 0;
            while (chosen < count && (level -= weights[chosen]) >= 0.0) chosen++;
            labels[i] = chosen;
            sizes[chosen]++;
            s = sums + chosen * d;
            for (int64_t j = 0; j < d; j++) s[j] += x[j];
            if (chosen == count) count++;
        }
    }
    free(weights);
    return count;
}
