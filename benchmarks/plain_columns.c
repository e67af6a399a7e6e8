/* A single Gibbs sweep with columns of four kinds, no cell missing, in plain C: the yardstick for the compiled kernels.
 *
 * One fused loop; numbers of columns are constants (-DBERNOULLI=7 -DCATEGORICAL=6 -DLEVELS=4 -DPOISSON=6 -DNORMAL=6),
 * hyperparameters the same for all columns of a kind. The point stays inside its cluster while its weights are found.
 * Eight clusters lie side by side, one in each lane of a vector:
 *   Bernoulli, categorical: log(a + count) for each level, so that a candidate costs one addition (of a table's entry)
 *   Poisson: lgamma(a + S) by table; what does not depend on the point is one number for each cluster and size
 *   normal-inverse-gamma: the exponent is the same in all columns, so that up to 16 factors have one log
 * Same generator as plain_sweep.c, clusters in order of creation; a point alone that draws a new cluster keeps its own.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8
#define CODED (BERNOULLI + CATEGORICAL)
#define ROWS (2 * BERNOULLI + LEVELS * CATEGORICAL)
#define BUNCHES ((NORMAL + 15) / 16)
#define NEVER -1e300
#define TINY 1e-4

typedef double lanes __attribute__((vector_size(8 * LANES)));

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

enum { LOGS = 0, MEANS = ROWS, HALVES = ROWS + NORMAL, ROOM = ROWS + 2 * NORMAL };  /* halves: 1 / (2 b) */
enum { COUNTS = 0, SUMS = ROWS, WHOLE = ROWS + POISSON };

/* By size n: 0 all that depends on nothing else, 1 log((b + n) / (b + n + 1)), 2 log(b + n + 1), 3 r_n, 4 -(a_n + 1/2),
 * 5 -kappa_n / (kappa_n - 1), 6 a_n - 1/2. */
#define TABLE 7

typedef struct {
    int64_t n, count;
    const int64_t *codes, *counts;             /* of each point: rows of its levels; its counts */
    const double *reals, *table, *logs, *gammas; /* logs: for each row of levels, log(a + count) from -1 on */
    double poisson_a, kappa, normal_b;
    int64_t *labels, *sizes, *whole;
    double *log_b, *sum_gamma, *total, *base, *scale, *power, *own_scale, *own_power, *per_count, *numbers;
} mixture;

static inline double *number(const mixture *m, int64_t c) { return m->numbers + c / LANES * ROOM * LANES + c % LANES; }
static inline int64_t *whole(const mixture *m, int64_t c) { return m->whole + c / LANES * WHOLE * LANES + c % LANES; }
static inline const double *logs_of(const mixture *m, int64_t row) { return m->logs + row * (m->n + 2) + 1; }

static void refresh(mixture *m, int64_t c) {
    const double *row = m->table + TABLE * m->sizes[c], *v = number(m, c);
    const int64_t *s = whole(m, c);
    double log_b = 0.0, gamma = 0.0, total = POISSON * m->poisson_a;
    for (int g = 0; g < BUNCHES; g++) {
        double product = 1.0;
        for (int j = 16 * g; j < NORMAL && j < 16 * g + 16; j++) product *= v[(HALVES + j) * LANES];
        log_b -= log(product);
    }
    log_b -= NORMAL * 0.6931471805599453;
    for (int j = 0; j < POISSON; j++) {
        gamma += m->gammas[s[(SUMS + j) * LANES]];
        total += (double)s[(SUMS + j) * LANES];
    }
    m->log_b[c] = log_b, m->sum_gamma[c] = gamma, m->total[c] = total;
    m->base[c] = row[0] - 0.5 * log_b - gamma + total * row[1];
    m->per_count[c] = row[2];
    m->scale[c] = row[3];
    m->power[c] = row[4];
    m->own_scale[c] = row[5];
    m->own_power[c] = row[6];
}

static void clear(mixture *m, int64_t c) {
    m->sizes[c] = 0;
    m->base[c] = NEVER;
    m->per_count[c] = m->scale[c] = m->power[c] = m->own_scale[c] = m->own_power[c] = 0.0;
}

static void change(mixture *m, int64_t c, int64_t i, int by) { /* all but the normal columns */
    double *v = number(m, c);
    int64_t *s = whole(m, c);
    for (int j = 0; j < CODED; j++) {
        int64_t row = m->codes[i * CODED + j];
        v[row * LANES] = logs_of(m, row)[s[row * LANES] += by];
    }
    for (int j = 0; j < POISSON; j++) s[(SUMS + j) * LANES] += by * m->counts[i * POISSON + j];
    m->sizes[c] += by;
}

static void open(mixture *m, int64_t c) {
    double *v = number(m, c);
    int64_t *s = whole(m, c);
    for (int j = 0; j < WHOLE; j++) s[j * LANES] = 0;
    for (int j = 0; j < ROWS; j++) v[j * LANES] = logs_of(m, j)[0];
    for (int j = 0; j < NORMAL; j++) v[(MEANS + j) * LANES] = 0.0, v[(HALVES + j) * LANES] = 0.5 / m->normal_b;
    m->sizes[c] = 0;
}

/* Means and halves from the members, without one of them. */
static void rebuild(const mixture *m, int64_t c, int64_t without, double *v) {
    for (int j = 0; j < NORMAL; j++) {
        double size = m->kappa, mean = 0.0, squares = 0.0;
        for (int64_t i = 0; i < m->n; i++)
            if (m->labels[i] == c && i != without) mean += m->reals[i * NORMAL + j], size += 1.0;
        mean /= size;
        for (int64_t i = 0; i < m->n; i++)
            if (m->labels[i] == c && i != without)
                squares += (m->reals[i * NORMAL + j] - mean) * (m->reals[i * NORMAL + j] - mean);
        v[(MEANS + j) * LANES] = mean;
        v[(HALVES + j) * LANES] = 0.5 / (m->normal_b + 0.5 * (squares + m->kappa * mean * mean));
    }
}

static void drop(mixture *m, int64_t k) {
    for (int64_t c = k + 1; c < m->count; c++) {
        double *restrict a = number(m, c - 1), *restrict b = number(m, c);
        int64_t *restrict s = whole(m, c - 1), *restrict t = whole(m, c);
        for (int j = 0; j < ROOM; j++) a[j * LANES] = b[j * LANES];
        for (int j = 0; j < WHOLE; j++) s[j * LANES] = t[j * LANES];
        m->sizes[c - 1] = m->sizes[c];
        refresh(m, c - 1);
    }
    clear(m, --m->count);
    for (int64_t j = 0; j < m->n; j++) m->labels[j] -= m->labels[j] > k;
}

/* numbers: a of the Poisson columns, kappa and b of the normal ones (prior mean 0). Labels and the generator are
 * changed in place; with -DTRACE the log weights of the last sweep are kept, and the labels before each visit. */
int64_t sweeps(int64_t how_many, int64_t n, const int64_t *restrict codes, const int64_t *restrict counts,
               const double *restrict reals, const double *restrict table, const double *restrict logs,
               const double *restrict gammas, const double *restrict log_new, const double *restrict hyper,
               int64_t *restrict labels, int64_t count, uint64_t *restrict state, double *trace_weights,
               int64_t *trace_labels) {
    const int64_t room = (n + 1 + LANES) / LANES * LANES;
    mixture all = {n, count, codes, counts, reals, table, logs, gammas, hyper[0], hyper[1], hyper[2], labels}, *m = &all;
    m->sizes = calloc(room, sizeof(int64_t));
    m->whole = calloc(room * WHOLE + 1, sizeof(int64_t));
    double *arrays = aligned_alloc(64, (11 + BUNCHES) * room * sizeof(double));
    double **fields[] = {&m->log_b, &m->sum_gamma, &m->total, &m->base, &m->scale, &m->power, &m->own_scale,
                         &m->own_power, &m->per_count};
    for (int f = 0; f < 9; f++) *fields[f] = arrays + f * room;
    double *restrict weights = arrays + 9 * room, *restrict parts = arrays + 10 * room, *restrict products = parts + room;
    m->numbers = aligned_alloc(64, room * ROOM * sizeof(double));
    double *scratch = malloc(ROOM * LANES * sizeof(double));
    memset(m->numbers, 0, room * ROOM * sizeof(double));
    memset(arrays, 0, (11 + BUNCHES) * room * sizeof(double));
    for (int64_t c = 0; c < room; c++) clear(m, c);
    for (int64_t j = 0; j < BUNCHES * room; j++) products[j] = 1.0;
    for (int64_t c = 0; c < count; c++) open(m, c);
    for (int64_t i = 0; i < n; i++) change(m, labels[i], i, 1);
    for (int64_t c = 0; c < count; c++) {
        rebuild(m, c, -1, number(m, c));
        refresh(m, c);
    }
    for (int64_t sweep = 0; sweep < how_many; sweep++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t *restrict code = codes + i * CODED, *restrict events = counts + i * POISSON;
            const double *restrict x = reals + i * NORMAL;
            const int64_t k = labels[i], now = m->count, end = (now + LANES) / LANES * LANES;
            double sum_events = 0.0;
            for (int j = 0; j < POISSON; j++) sum_events += (double)events[j];
            for (int64_t c = 0; c < now; c += LANES) {
                const lanes *restrict v = (const lanes *)(m->numbers + c * ROOM);
                const int64_t *restrict s = m->whole + c * WHOLE + SUMS * LANES;
                lanes part = *(lanes *)(m->base + c) - sum_events * *(lanes *)(m->per_count + c);
                for (int j = 0; j < CODED; j++) part += v[code[j]];
                for (int j = 0; j < POISSON; j++) {
                    const double *restrict shifted = gammas + events[j];
                    double found[LANES] __attribute__((aligned(64)));
                    for (int l = 0; l < LANES; l++) found[l] = shifted[s[j * LANES + l]];
                    part += *(lanes *)found;
                }
                *(lanes *)(parts + c) = part;
                double scales[LANES] __attribute__((aligned(64)));
                for (int l = 0; l < LANES; l++) scales[l] = c + l == k ? m->own_scale[c + l] : m->scale[c + l];
                const lanes scale = *(lanes *)scales;
                for (int g = 0; g < BUNCHES; g++) {
                    lanes product = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
                    for (int j = 16 * g; j < NORMAL && j < 16 * g + 16; j++) {
                        lanes d = x[j] - v[MEANS + j];
                        product *= 1.0 + d * d * (scale * v[HALVES + j]);
                    }
                    *(lanes *)(products + g * room + c) = product;
                }
            }
            /* its own cluster, without it */
            const int alone = m->sizes[k] == 1;
            double own = NEVER;
            if (!alone) {
                const double *row = table + TABLE * (m->sizes[k] - 1);
                const int64_t *s = whole(m, k);
                own = row[0] - 0.5 * m->log_b[k] + m->sum_gamma[k] + (m->total[k] - sum_events) * row[1]
                      - sum_events * row[2];
                for (int j = 0; j < CODED; j++) own += logs_of(m, code[j])[s[code[j] * LANES] - 1];
                for (int j = 0; j < POISSON; j++) own -= gammas[s[(SUMS + j) * LANES] - events[j]];
            }
            int far = 0;
            if (!alone)
                for (int g = 0; g < BUNCHES; g++)
                    if (products[g * room + k] < TINY)
                        for (int j = 16 * g; j < NORMAL && j < 16 * g + 16; j++) {
                            const double *v = number(m, k);
                            double d = x[j] - v[(MEANS + j) * LANES];
                            far |= 1.0 + d * d * m->own_scale[k] * v[(HALVES + j) * LANES] < TINY;
                        }
            double top = NEVER, total = 0.0;
            {
                const double *restrict power = m->power, *restrict own_power = m->own_power;
                const double fresh = log_new[i];
                for (int64_t c = 0; c < end; c++) {
                    double part = c == k ? own : parts[c], e = c == k ? own_power[c] : power[c], sum = 0.0;
                    for (int g = 0; g < BUNCHES; g++) sum += log(products[g * room + c]);
                    double weight = part + e * sum;
                    weight = c > now ? NEVER : c == now ? fresh : weight;
                    weights[c] = weight;
                    top = weight > top ? weight : top;
                }
            }
            if (far) {
                const double *row = table + TABLE * (m->sizes[k] - 1);
                double sum = 0.0, log_b = 0.0;
                rebuild(m, k, i, scratch);
                for (int j = 0; j < NORMAL; j++) {
                    double d = x[j] - scratch[(MEANS + j) * LANES], half = scratch[(HALVES + j) * LANES];
                    sum += log(1.0 + row[3] * d * d * half);
                    log_b -= log(2.0 * half);
                }
                weights[k] = own + 0.5 * (m->log_b[k] - log_b) + row[4] * sum;
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
                weights[c] = exp(weights[c] - top);
                total += weights[c];
            }
            double level = uniform(state) * total;
            int64_t chosen = 0;
            while (chosen < now && (level -= weights[chosen]) >= 0.0) chosen++;
            if (chosen == k || (chosen == now && alone)) continue;
            if (alone) {
                labels[i] = -1;
                drop(m, k);
                chosen -= chosen > k;
            } else {
                double *v = number(m, k), s = m->own_scale[k];
                for (int j = 0; j < NORMAL; j++) {
                    double *mean = v + (MEANS + j) * LANES, *half = v + (HALVES + j) * LANES, d = x[j] - *mean;
                    if (far) {
                        *mean = scratch[(MEANS + j) * LANES];
                        *half = scratch[(HALVES + j) * LANES];
                    } else {
                        *half /= 1.0 + s * d * d * *half;
                        *mean += (1.0 + s) * d;
                    }
                }
                change(m, k, i, -1);
                refresh(m, k);
            }
            if (chosen == m->count) {
                open(m, chosen);
                m->count++;
            }
            double *v = number(m, chosen), r = table[TABLE * m->sizes[chosen] + 3];
            for (int j = 0; j < NORMAL; j++) {
                double *mean = v + (MEANS + j) * LANES, *half = v + (HALVES + j) * LANES, d = x[j] - *mean;
                *half /= 1.0 + r * d * d * *half;
                *mean += (1.0 - r) * d;
            }
            change(m, chosen, i, 1);
            refresh(m, chosen);
            labels[i] = chosen;
        }
    }
    count = m->count;
    free(m->sizes);
    free(m->whole);
    free(arrays);
    free(scratch);
    free(m->numbers);
    return count;
}
