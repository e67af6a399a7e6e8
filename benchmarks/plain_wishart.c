/* A single Gibbs sweep with normal-inverse-Wishart clusters in plain C: the yardstick for the compiled kernels.
 *
 * The point stays inside its cluster while its weights are found; a factor is touched only when a point really moves.
 * Points are whitened (prior mean 0, Psi0 = I). Each cluster has W = L^-1, the inverse of the lower Cholesky factor of
 * Psi, and Psi + s d d' changes it in O(D^2), z = W d, t_0 = 1, t_i = t_(i-1) + s z_i^2, v_0 = 0, v_i = v_(i-1) + z_i W_i:
 *
 *     new row i = sqrt(t_(i-1) / t_i) * (W_i - s z_i / t_(i-1) * v_(i-1))       log|Psi| += log t_D
 *
 * Compiled with -O3 -march=native -ffast-math -DCOLUMNS=50 -DLAYOUT=1 (a constant number of columns) and called through
 * ctypes. Same generator (xoshiro256++) as plain_sweep.c, clusters in order of creation; a point alone in its cluster
 * that draws a new one keeps its own.
 *
 * LAYOUT 0: eight clusters side by side, one in each lane of a vector (taken up to 16 columns)
 * LAYOUT 1: each cluster by itself, W by rows of multiples of four
 * LAYOUT 2: each cluster by itself, W by columns that begin at multiples of four
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef LAYOUT
#define LAYOUT (COLUMNS > 16)
#endif
#define D COLUMNS
#define LANES 8
#define NEVER -1e300
#define TINY 1e-4

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef double four __attribute__((vector_size(32)));
typedef int64_t index4 __attribute__((vector_size(32)));

#define BLOCKS ((D + 3) / 4)
#if LAYOUT == 0
#define CELLS (D * (D + 1) / 2)
#define ROOM (CELLS + D)
#else
#define CELLS (16 * BLOCKS * (BLOCKS + 1) / 2)
#define ROOM (CELLS + 4 * BLOCKS)
#endif

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

#ifdef INLINE_MATHS
/* log (of ordinary positive numbers) and exp (of numbers <= 0), to one or two last places, for loops to be made of
 * vectors. Not used unless asked for: the yardstick takes the logs of the C library (libmvec). */
static inline double quick_log(double x) {
    union { double d; int64_t i; } a = {x};
    int64_t e = (a.i - 0x3fe6a09e667f3bcdLL) >> 52; /* mantissa in sqrt(1/2) .. sqrt(2) */
    a.i -= e << 52;
    double f = a.d - 1.0, s = f / (2.0 + f), z = s * s, w = z * z, k = (double)e;
    double odd = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double even = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 +
                       w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double half = 0.5 * f * f;
    return k * 0.693147180369123816490 - ((half - (s * (half + odd + even) + k * 1.90821492927058770002e-10)) - f);
}

static inline double quick_exp(double x) {
    union { double d; int64_t i; } a;
    x = x < -700.0 ? -700.0 : x;
    double k = floor(x * 1.44269504088896338700 + 0.5);
    double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    double p0 = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
    double p1 = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
    double p2 = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
    a.d = p0 + r4 * p1 + r8 * (p2 + r4 * (1.0 / 479001600));
    a.i += (int64_t)k << 52;
    return a.d;
}
#define log_of quick_log
#define exp_of quick_exp
#else
#define log_of log
#define exp_of exp
#endif

/* For each cluster c: weight of a point outside = base[c] + power[c] log(1 + scale[c] q), and the same with own_ for a
 * point inside; q = |W (x - mean)|^2. `numbers` has W and the mean. */
typedef struct {
    int64_t n, capacity, count;
    const double *points, *table;
    int64_t *labels, *sizes, *slots;
    double *log_det, *base, *scale, *power, *own_base, *own_scale, *own_power, *numbers;
} mixture;

#if LAYOUT == 0
#define STRIDE LANES
static inline double *factor(const mixture *m, int64_t c) {
    return m->numbers + c / LANES * ROOM * LANES + c % LANES;
}
static inline int64_t cell(int i, int j) { return (i * (i + 1) / 2 + j) * LANES; }
#else
#define STRIDE 1
static inline double *factor(const mixture *m, int64_t c) { return m->numbers + m->slots[c] * ROOM; }
#if LAYOUT == 1
static inline int64_t cell(int i, int j) { int b = i / 4; return 8 * b * (b + 1) + (i - 4 * b) * 4 * (b + 1) + j; }
#else
static inline int64_t cell(int i, int j) {
    int b = j / 4; /* columns of blocks before: 4 columns of 4 (BLOCKS - block) rows each */
    return 16 * BLOCKS * b - 8 * b * (b - 1) + (j - 4 * b) * 4 * (BLOCKS - b) + i - 4 * b;
}
#endif
#endif

static inline double *mean_of(double *w) { return w + CELLS * STRIDE; }

static void refresh(mixture *m, int64_t c) {
    const double *row = m->table + 6 * m->sizes[c];
    m->base[c] = row[0] - 0.5 * m->log_det[c];
    m->scale[c] = row[1];
    m->power[c] = row[2];
    m->own_base[c] = m->sizes[c] > 1 ? row[3] - 0.5 * m->log_det[c] : NEVER;
    m->own_scale[c] = row[4];
    m->own_power[c] = row[5];
}

static void clear(mixture *m, int64_t c) {
    m->sizes[c] = 0;
    m->log_det[c] = m->scale[c] = m->power[c] = m->own_scale[c] = m->own_power[c] = 0.0;
    m->base[c] = m->own_base[c] = NEVER;
}

/* Psi + s d d' for a point x: z from the factor as it is; `shift` moves the mean by so much of d; gives log t_D. */
static double rank_one(double *restrict w, const double *restrict x, double s, double shift) {
    double d[4 * BLOCKS] = {0}, z[D], t[D + 1], f[D], g[D];
    double *restrict mean = mean_of(w);
    for (int j = 0; j < D; j++) d[j] = x[j] - mean[j * STRIDE];
    for (int j = 0; j < D; j++) mean[j * STRIDE] += shift * d[j];
#if LAYOUT == 2
    memset(z, 0, sizeof z);
    for (int j = 0; j < D; j++)
        for (int i = j; i < D; i++) z[i] += w[cell(i, j)] * d[j];
#else
    for (int i = 0; i < D; i++) {
        double sum = 0.0;
        for (int j = 0; j <= i; j++) sum += w[cell(i, j)] * d[j];
        z[i] = sum;
    }
#endif
    t[0] = 1.0;
    for (int i = 0; i < D; i++) t[i + 1] = t[i] + s * z[i] * z[i];
    for (int i = 0; i < D; i++) {
        f[i] = sqrt(t[i] / t[i + 1]);
        g[i] = s * z[i] / t[i];
    }
#if LAYOUT == 2
    for (int b = 0; b < BLOCKS; b++) { /* four columns at once, for their chains to overlap */
        double v[4] = {0};
        double *restrict column = w + cell(4 * b, 4 * b);
        for (int i = 4 * b; i < D; i++)
            for (int j = 0; j < 4; j++) {
                double *restrict old = column + j * 4 * (BLOCKS - b) + i - 4 * b, now = *old;
                *old = f[i] * (now - g[i] * v[j]);
                v[j] += z[i] * now;
            }
    }
#else
    double v[4 * BLOCKS] = {0};
    for (int i = 0; i < D; i++) {
        double *restrict row = w + cell(i, 0);
#if LAYOUT == 1
        for (int j = 0; j < 4 * (i / 4 + 1); j++) { /* beyond the diagonal both are 0 */
#else
        for (int j = 0; j <= i; j++) {
#endif
            double old = row[j * STRIDE];
            row[j * STRIDE] = f[i] * (old - g[i] * v[j]);
            v[j] += z[i] * old;
        }
    }
#endif
    return log(t[D]);
}

/* Factor, mean and size from the members of c, without point `without`; gives log|Psi|. */
static double rebuild(mixture *m, int64_t c, int64_t without, double *restrict w) {
    double *psi = calloc(D * D, sizeof(double)), *inverse = calloc(D * D, sizeof(double)), mean[D] = {0}, d[D];
    const double prior_kappa = m->table[1] / (1.0 - m->table[1]); /* from r_0 */
    double size = 0.0, log_det = 0.0;
    for (int64_t i = 0; i < m->n; i++)
        if (m->labels[i] == c && i != without) {
            size += 1.0;
            for (int j = 0; j < D; j++) mean[j] += m->points[i * D + j];
        }
    for (int j = 0; j < D; j++) mean[j] /= prior_kappa + size;
    for (int j = 0; j < D; j++) {
        for (int k = 0; k <= j; k++) psi[j * D + k] = prior_kappa * mean[j] * mean[k];
        psi[j * D + j] += 1.0;
    }
    for (int64_t i = 0; i < m->n; i++)
        if (m->labels[i] == c && i != without) {
            for (int j = 0; j < D; j++) d[j] = m->points[i * D + j] - mean[j];
            for (int j = 0; j < D; j++)
                for (int k = 0; k <= j; k++) psi[j * D + k] += d[j] * d[k];
        }
    for (int j = 0; j < D; j++)
        for (int k = 0; k <= j; k++) {
            double sum = psi[j * D + k];
            for (int l = 0; l < k; l++) sum -= psi[j * D + l] * psi[k * D + l];
            psi[j * D + k] = j == k ? sqrt(sum) : sum / psi[k * D + k];
        }
    for (int k = 0; k < D; k++)
        for (int j = k; j < D; j++) {
            double sum = j == k;
            for (int l = k; l < j; l++) sum -= psi[j * D + l] * inverse[l * D + k];
            inverse[j * D + k] = sum / psi[j * D + j];
        }
    if (STRIDE == 1) memset(w, 0, ROOM * sizeof(double));
    for (int j = 0; j < D; j++) {
        log_det += 2.0 * log(psi[j * D + j]);
        for (int k = 0; k <= j; k++) w[cell(j, k)] = inverse[j * D + k];
        mean_of(w)[j * STRIDE] = mean[j];
    }
    free(psi);
    free(inverse);
    return log_det;
}

static double square_at(const double *restrict w, const double *restrict x) { /* slow */
    double q = 0.0;
    for (int i = 0; i < D; i++) {
        double z = 0.0;
        for (int j = 0; j <= i; j++) z += w[cell(i, j)] * (x[j] - mean_of((double *)w)[j * STRIDE]);
        q += z * z;
    }
    return q;
}

static void squares(const mixture *m, const double *restrict x, double *restrict q) {
#if LAYOUT == 0
    for (int64_t c = 0; c < m->count; c += LANES) {
        const lanes *restrict w = (const lanes *)(m->numbers + c * ROOM);
        lanes d[D], sum = {0};
        for (int j = 0; j < D; j++) d[j] = x[j] - w[CELLS + j];
#pragma GCC unroll 16
        for (int i = 0; i < D; i++) {
            lanes z = w[i * (i + 1) / 2] * d[0];
#pragma GCC unroll 16
            for (int j = 1; j <= i; j++) z += w[i * (i + 1) / 2 + j] * d[j];
            sum += z * z;
        }
        *(lanes *)(q + c) = sum;
    }
#elif LAYOUT == 1
    double padded[4 * BLOCKS] = {0};
    memcpy(padded, x, D * sizeof(double));
    for (int64_t c = 0; c < m->count; c++) {
        const four *restrict w = (const four *)factor(m, c), *restrict mean = w + CELLS / 4;
        four d[BLOCKS], sum = {0};
        for (int j = 0; j < BLOCKS; j++) d[j] = ((four *)padded)[j] - mean[j];
#pragma GCC unroll 16
        for (int b = 0; b < BLOCKS; b++) {
            const four *restrict row = w + 2 * b * (b + 1);
            four z0 = row[0] * d[0], z1 = row[b + 1] * d[0], z2 = row[2 * b + 2] * d[0], z3 = row[3 * b + 3] * d[0];
#pragma GCC unroll 16
            for (int j = 1; j <= b; j++) {
                z0 += row[j] * d[j];
                z1 += row[b + 1 + j] * d[j];
                z2 += row[2 * b + 2 + j] * d[j];
                z3 += row[3 * b + 3 + j] * d[j];
            }
            const index4 even = {0, 4, 2, 6}, odd = {1, 5, 3, 7}, low = {0, 1, 4, 5}, high = {2, 3, 6, 7};
            four y0 = __builtin_shuffle(z0, z1, even) + __builtin_shuffle(z0, z1, odd);
            four y1 = __builtin_shuffle(z2, z3, even) + __builtin_shuffle(z2, z3, odd);
            four z = __builtin_shuffle(y0, y1, low) + __builtin_shuffle(y0, y1, high);
            sum += z * z;
        }
        q[c] = sum[0] + sum[1] + sum[2] + sum[3];
    }
#else
    for (int64_t c = 0; c < m->count; c++) {
        const four *restrict w = (const four *)factor(m, c);
        const double *restrict mean = (const double *)(w + CELLS / 4);
        four z[BLOCKS], sum = {0};
        for (int b = 0; b < BLOCKS; b++) z[b] = (four){0};
#pragma GCC unroll 16
        for (int b = 0; b < BLOCKS; b++) {
#pragma GCC unroll 4
            for (int j = 4 * b; j < 4 * b + 4; j++) {
                if (j < D) {
                    double d = x[j] - mean[j];
#pragma GCC unroll 16
                    for (int i = b; i < BLOCKS; i++) z[i] += w[i - b] * d;
                }
                w += BLOCKS - b;
            }
        }
        for (int b = 0; b < BLOCKS; b++) sum += z[b] * z[b];
        q[c] = sum[0] + sum[1] + sum[2] + sum[3];
    }
#endif
}

static void copy(mixture *m, int64_t to, int64_t from) {
    m->sizes[to] = m->sizes[from];
    m->log_det[to] = m->log_det[from];
#if LAYOUT == 0
    double *restrict a = factor(m, to), *restrict b = factor(m, from);
    for (int j = 0; j < ROOM; j++) a[j * STRIDE] = b[j * STRIDE];
#endif
    refresh(m, to);
}

static void drop(mixture *m, int64_t k) {
    int64_t slot = m->slots[k];
    for (int64_t c = k + 1; c < m->count; c++) {
        copy(m, c - 1, c);
        m->slots[c - 1] = m->slots[c];
    }
    m->slots[--m->count] = slot;
    clear(m, m->count);
    for (int64_t j = 0; j < m->n; j++) m->labels[j] -= m->labels[j] > k;
}

static void open(mixture *m, int64_t c) {
    double *w = factor(m, c);
    m->sizes[c] = 0;
    m->log_det[c] = 0.0;
    for (int j = 0; j < ROOM; j++) w[j * STRIDE] = 0.0;
    for (int i = 0; i < D; i++) w[cell(i, i)] = 1.0;
    m->count++;
}

/* table: a row for each size n: log n + T[n], r_n, -(nu_n + 1) / 2, log(n - 1) + T[n - 1], -kappa_n / (kappa_n - 1),
 * (nu_n - 1) / 2; log_new: for each point. Labels (and the generator) are changed in place. With -DTRACE the log
 * weights of the last sweep, and the labels before each visit, are kept. */
int64_t sweeps(int64_t how_many, int64_t n, const double *restrict points, const double *restrict table,
               const double *restrict log_new, int64_t *restrict labels, int64_t count, uint64_t *restrict state,
               double *trace_weights, int64_t *trace_labels) {
    const int64_t room = (n + 1 + LANES) / LANES * LANES;
    mixture all = {n, room, count, points, table, labels}, *m = &all;
    m->sizes = malloc(room * sizeof(int64_t));
    m->slots = malloc(room * sizeof(int64_t));
    double *arrays = aligned_alloc(64, 9 * room * sizeof(double)), *scratch = aligned_alloc(64, ROOM * LANES * 8);
    m->log_det = arrays, m->base = arrays + room, m->scale = arrays + 2 * room, m->power = arrays + 3 * room;
    m->own_base = arrays + 4 * room, m->own_scale = arrays + 5 * room, m->own_power = arrays + 6 * room;
    double *restrict q = arrays + 7 * room, *restrict weights = arrays + 8 * room;
    m->numbers = aligned_alloc(64, room * ROOM * sizeof(double));
    memset(m->numbers, 0, room * ROOM * sizeof(double));
    memset(q, 0, room * sizeof(double));
    for (int64_t c = 0; c < room; c++) {
        m->slots[c] = c;
        clear(m, c);
    }
    for (int64_t i = 0; i < n; i++) m->sizes[labels[i]]++;
    for (int64_t c = 0; c < count; c++) {
        m->log_det[c] = rebuild(m, c, -1, factor(m, c));
        refresh(m, c);
    }
    for (int64_t sweep = 0; sweep < how_many; sweep++) {
        for (int64_t i = 0; i < n; i++) {
            const double *restrict x = points + i * D;
            const int64_t k = labels[i], now = m->count, end = (now + LANES) / LANES * LANES;
            const double fresh = log_new[i];
            squares(m, x, q);
            double top = NEVER, total = 0.0, without = 0.0;
            const double u = 1.0 + m->own_scale[k] * q[k];
            {
                const double *restrict base = m->base, *restrict scale = m->scale, *restrict power = m->power;
                const double *restrict own_base = m->own_base, *restrict own_scale = m->own_scale;
                const double *restrict own_power = m->own_power;
                for (int64_t c = 0; c < end; c++) {
                    double b = c == k ? own_base[c] : base[c], s = c == k ? own_scale[c] : scale[c];
                    double e = c == k ? own_power[c] : power[c];
                    double weight = b + e * log_of(1.0 + s * q[c]);
                    weights[c] = weight = c == now ? fresh : weight;
                    top = weight > top ? weight : top;
                }
            }
            const int far = m->sizes[k] > 1 && u < TINY;
            if (far) { /* the point holds its cluster open by itself: what is left, from the members */
                without = rebuild(m, k, i, scratch);
                const double *row = table + 6 * (m->sizes[k] - 1);
                weights[k] = row[0] - 0.5 * without + row[2] * log(1.0 + row[1] * square_at(scratch, x));
                top = NEVER;
                for (int64_t c = 0; c <= now; c++) top = weights[c] > top ? weights[c] : top;
            }
#ifdef TRACE
            if (sweep == how_many - 1) {
                memcpy(trace_labels + i * n, labels, n * sizeof(int64_t));
                for (int64_t c = 0; c <= n; c++) trace_weights[i * (n + 1) + c] = c <= now ? weights[c] : NEVER;
            }
#endif
            for (int64_t c = 0; c < end; c++) {
                weights[c] = exp_of(weights[c] - top);
                total += weights[c];
            }
            double level = uniform(state) * total;
            int64_t chosen = 0;
            while (chosen < now && (level -= weights[chosen]) >= 0.0) chosen++;
            if (chosen == k || (chosen == now && m->sizes[k] == 1)) continue;
            if (m->sizes[k] == 1) {
                labels[i] = -1;
                drop(m, k);
                chosen -= chosen > k;
            } else {
                double *w = factor(m, k);
                if (far) {
                    for (int j = 0; j < ROOM; j++) w[j * STRIDE] = scratch[j * STRIDE];
                    m->log_det[k] = without;
                } else {
                    double s = m->own_scale[k]; /* the mean moves by -d / (kappa_n - 1) = d (1 + s) */
                    m->log_det[k] += rank_one(w, x, s, 1.0 + s);
                }
                m->sizes[k]--;
                refresh(m, k);
            }
            if (chosen == m->count) open(m, chosen);
            double r = table[6 * m->sizes[chosen] + 1]; /* the mean moves by d / (kappa_n + 1) = d (1 - r) */
            m->log_det[chosen] += rank_one(factor(m, chosen), x, r, 1.0 - r);
            m->sizes[chosen]++;
            refresh(m, chosen);
            labels[i] = chosen;
        }
    }
    count = m->count;
    free(m->sizes);
    free(m->slots);
    free(arrays);
    free(scratch);
    free(m->numbers);
    return count;
}
