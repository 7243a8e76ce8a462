// See kernels.hpp. Compiled once per vector width; DUELIST_VECTORS is the name of the version.
#include <new>

#include "numerics/kernels.hpp"

#define STRING_OF(name) #name
#define NAME_OF(name) STRING_OF(name)

namespace duelist {
namespace DUELIST_VECTORS {
namespace {

typedef double Lanes __attribute__((vector_size(64)));
typedef i64 IntLanes __attribute__((vector_size(64)));

inline Lanes load(const double* p) {
    Lanes x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
inline void store(double* p, Lanes x) { __builtin_memcpy(p, &x, sizeof x); }
inline Lanes all(double x) { return Lanes{x, x, x, x, x, x, x, x}; }
inline Lanes root(Lanes x) {
    Lanes out;
    for (int k = 0; k < LANES; k++) out[k] = __builtin_sqrt(x[k]);
    return out;
}
inline double joined(Lanes s) { return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])); }
inline double larger(double a, double b) { return a > b ? a : b; }

// a . b in eight lanes that are added at the end; the remainder goes to the first lane.
double dot(const double* a, const double* b, i64 n) {
    i64 whole = n - n % LANES;
    if (whole == 0) {
        double total = 0.0;
        for (i64 i = 0; i < n; i++) total += a[i] * b[i];
        return total;
    }
    Lanes s = all(0.0);
    for (i64 i = 0; i < whole; i += LANES) s += load(a + i) * load(b + i);
    for (i64 i = whole; i < n; i++) s[0] += a[i] * b[i];
    return joined(s);
}

bool same_bits(const double* a, const double* b, i64 n) {
    constexpr i64 STRETCH = 512;
    for (i64 start = 0; start < n; start += STRETCH) {
        i64 stop = start + STRETCH < n ? start + STRETCH : n;
        i64 different = 0;
        for (i64 k = start; k < stop; k++) {  // no early exit inside the inner loop, so that it vectorizes
            i64 x, y;
            __builtin_memcpy(&x, a + k, sizeof x);
            __builtin_memcpy(&y, b + k, sizeof y);
            different |= x ^ y;
        }
        if (different != 0) return false;
    }
    return true;
}

// -- triangular factors -----------------------------------------------------------------

// Rotate the rest of z into row k of the factor (a Givens rotation).
inline void rotate(double* __restrict row, double* __restrict rest, i64 k, i64 dim) {
    double entry = rest[k], diagonal = row[k];
    if (entry == 0.0) return;
    double radius = __builtin_sqrt(diagonal * diagonal + entry * entry);
    double cosine = radius / diagonal, secant = diagonal / radius, sine = entry / diagonal;
    row[k] = radius;
    for (i64 i = k + 1; i < dim; i++) {
        row[i] = (row[i] + sine * rest[i]) * secant;
        rest[i] = cosine * rest[i] - sine * row[i];
    }
}

// Rank-one update: R becomes the factor of R'R + weight zz'. `rest` is scratch space for dim numbers.
void cholesky_update(double* factor, i64 dim, const double* z, double weight, double* rest) {
    double size = __builtin_sqrt(weight);
    for (i64 k = 0; k < dim; k++) rest[k] = size * z[k];
    for (i64 k = 0; k < dim; k++) rotate(factor + k * dim, rest, k, dim);
}

// Update two factors with the same z. Each rotation waits for a square root and a division of the one before it, so two
// interleaved chains take as long as one.
void cholesky_update_both(double* factor, double weight, double* other, double other_weight, i64 dim, const double* z,
                          double* rest, double* other_rest) {
    double size = __builtin_sqrt(weight), other_size = __builtin_sqrt(other_weight);
    for (i64 k = 0; k < dim; k++) {
        rest[k] = size * z[k];
        other_rest[k] = other_size * z[k];
    }
    for (i64 k = 0; k < dim; k++) {
        rotate(factor + k * dim, rest, k, dim);
        rotate(other + k * dim, other_rest, k, dim);
    }
}

// Upper Cholesky factor, in place, from the upper triangle. Return false if the matrix is not positive definite.
bool cholesky(double* matrix, i64 dim) {
    for (i64 k = 0; k < dim; k++) {
        double* __restrict row = matrix + k * dim;
        double diagonal = row[k];
        if (!(diagonal > 0.0)) return false;
        diagonal = __builtin_sqrt(diagonal);
        row[k] = diagonal;
        for (i64 i = k + 1; i < dim; i++) row[i] /= diagonal;
        for (i64 j = k + 1; j < dim; j++) {
            double share = row[j];
            double* __restrict below = matrix + j * dim;
            for (i64 i = j; i < dim; i++) below[i] -= share * row[i];
        }
    }
    return true;
}

// In low dimensions the latency of the previous entry dominates. It is therefore used last, and multiplied by a
// reciprocal that does not depend on it.

// b becomes R'^-1 b.
void solve_lower(const double* factor, i64 dim, double* __restrict b) {
    if (dim <= LANES) {
        for (i64 k = 0; k < dim; k++) {
            double rest = b[k];
            for (i64 i = 0; i < k; i++) rest -= factor[i * dim + k] * b[i];
            b[k] = rest * (1.0 / factor[k * dim + k]);
        }
        return;
    }
    for (i64 k = 0; k < dim; k++) {
        const double* __restrict row = factor + k * dim;
        double entry = b[k] / row[k];
        b[k] = entry;
        for (i64 i = k + 1; i < dim; i++) b[i] -= entry * row[i];
    }
}

// b becomes R^-1 b.
void solve_upper(const double* factor, i64 dim, double* __restrict b) {
    if (dim <= LANES) {
        for (i64 k = dim - 1; k >= 0; k--) {
            double rest = b[k];
            for (i64 i = dim - 1; i > k; i--) rest -= factor[k * dim + i] * b[i];
            b[k] = rest * (1.0 / factor[k * dim + k]);
        }
        return;
    }
    for (i64 k = dim - 1; k >= 0; k--) {
        const double* row = factor + k * dim;
        b[k] = (b[k] - dot(row + k + 1, b + k + 1, dim - k - 1)) / row[k];
    }
}

// out = R'R x
void multiply(const double* factor, i64 dim, const double* x, double* __restrict out) {
    for (i64 k = 0; k < dim; k++) out[k] = 0.0;
    for (i64 k = 0; k < dim; k++) {
        const double* __restrict row = factor + k * dim;
        double along = dot(row + k, x + k, dim - k);
        for (i64 i = k; i < dim; i++) out[i] += along * row[i];
    }
}

// -- arms -------------------------------------------------------------------------------

// Feature k of eight arms.
template <class Real>
inline Lanes feature_of_eight(const Real* const* rows, i64 k) {
    return Lanes{(double)rows[0][k], (double)rows[1][k], (double)rows[2][k], (double)rows[3][k],
                 (double)rows[4][k], (double)rows[5][k], (double)rows[6][k], (double)rows[7][k]};
}

// Solve R'x = v for GROUPS times eight columns in place, where `across` is the row stride. Earlier entries are
// subtracted in order, four at a time, so that each column is read and written a quarter as often.
template <int GROUPS>
inline void whiten_columns(const double* factor, i64 dim, double* v, i64 across, const double* inverse) {
    i64 k = 0;
    for (; k + 4 <= dim; k += 4) {
        const double *r0 = factor + k * dim, *r1 = r0 + dim, *r2 = r1 + dim, *r3 = r2 + dim;
        Lanes x0[GROUPS], x1[GROUPS], x2[GROUPS], x3[GROUPS];
        for (int g = 0; g < GROUPS; g++) {
            double* at = v + k * across + g * LANES;
            x0[g] = load(at) * all(inverse[k]);
            x1[g] = (load(at + across) - all(r0[k + 1]) * x0[g]) * all(inverse[k + 1]);
            x2[g] = ((load(at + 2 * across) - all(r0[k + 2]) * x0[g]) - all(r1[k + 2]) * x1[g]) * all(inverse[k + 2]);
            x3[g] =
                (((load(at + 3 * across) - all(r0[k + 3]) * x0[g]) - all(r1[k + 3]) * x1[g]) - all(r2[k + 3]) * x2[g]) *
                all(inverse[k + 3]);
            store(at, x0[g]);
            store(at + across, x1[g]);
            store(at + 2 * across, x2[g]);
            store(at + 3 * across, x3[g]);
        }
        for (i64 i = k + 4; i < dim; i++) {
            Lanes f0 = all(r0[i]), f1 = all(r1[i]), f2 = all(r2[i]), f3 = all(r3[i]);
            for (int g = 0; g < GROUPS; g++) {
                double* later = v + i * across + g * LANES;
                store(later, (((load(later) - f0 * x0[g]) - f1 * x1[g]) - f2 * x2[g]) - f3 * x3[g]);
            }
        }
    }
    for (; k < dim; k++) {
        const double* row = factor + k * dim;
        for (int g = 0; g < GROUPS; g++) {
            double* at = v + k * across + g * LANES;
            Lanes x = load(at) * all(inverse[k]);
            store(at, x);
            for (i64 i = k + 1; i < dim; i++) {
                double* later = at + (i - k) * across;
                store(later, load(later) - all(row[i]) * x);
            }
        }
    }
}

// Utilities and whitened columns of GROUPS times eight arms from `a` on. Columns go to `v`, whose row stride is
// `across`.
template <int GROUPS, class Real>
inline void whiten_some(const Real* arms, const i64* chosen, i64 a, i64 n, i64 dim, const double* theta,
                        const double* factor, const double* inverse, double* u, double* v, i64 across) {
    for (int g = 0; g < GROUPS; g++) {
        const Real* rows[LANES];
        for (i64 lane = 0; lane < LANES; lane++) {  // past the end, repeat the last arm
            i64 arm = a + g * LANES + lane < n ? a + g * LANES + lane : n - 1;
            rows[lane] = arms + (chosen ? chosen[arm] : arm) * dim;
        }
        Lanes total = all(0.0);
        for (i64 k = 0; k < dim; k++) {
            Lanes x = feature_of_eight(rows, k);
            if (theta) total += all(theta[k]) * x;
            if (v) store(v + k * across + g * LANES, x);
        }
        if (theta) store(u + a + g * LANES, total);
    }
    if (v && factor) whiten_columns<GROUPS>(factor, dim, v, across, inverse);
}

// If the columns of all arms exceed the first-level cache, whiten sixteen at a time in a tile and write out sixty-four
// at once, because memory favors long contiguous writes.
template <class Real>
void whiten_arms(const Real* arms, const i64* chosen, i64 n, i64 dim, const double* theta, const double* factor,
                 double* u, double* v, i64 stride) {
    constexpr i64 KEPT = 64;      // up to this dimension the tile is on the stack
    constexpr i64 CACHED = 2048;  // this many doubles fit into any first-level cache
    constexpr i64 BOTH = 2 * LANES, WIDE = 4 * BOTH;
    bool with_columns = v && factor, apart = with_columns && stride > BOTH && dim * stride > CACHED;
    alignas(64) double few[KEPT], near[KEPT * WIDE];
    double *inverse = few, *tile = near, *heap = nullptr;
    if (with_columns && dim > KEPT) {
        heap = static_cast<double*>(::operator new(sizeof(double) * dim * (1 + WIDE), std::align_val_t(64)));
        tile = heap;
        inverse = heap + dim * WIDE;
    }
    for (i64 k = 0; with_columns && k < dim; k++) inverse[k] = 1.0 / factor[k * dim + k];
    for (i64 start = 0; start < n; start += WIDE) {
        i64 stop = start + WIDE < n ? start + WIDE : n;
        for (i64 a = start; a < stop; a += BOTH) {
            double* to = apart ? tile + (a - start) * dim : (v ? v + a : nullptr);
            i64 across = apart ? BOTH : stride;
            if (a + LANES < stop)
                whiten_some<2>(arms, chosen, a, n, dim, theta, factor, inverse, u, to, across);
            else
                whiten_some<1>(arms, chosen, a, n, dim, theta, factor, inverse, u, to, across);
        }
        for (i64 k = 0; apart && k < dim; k++)
            for (i64 a = start; a < stop; a += LANES) {
                i64 done = a - start;
                store(v + k * stride + a, load(tile + done / BOTH * BOTH * dim + k * BOTH + done % BOTH));
            }
    }
    if (heap) ::operator delete(heap, std::align_val_t(64));
}

void whiten(const double* arms, const i64* chosen, i64 n, i64 dim, const double* theta, const double* factor, double* u,
            double* v, i64 stride) {
    whiten_arms(arms, chosen, n, dim, theta, factor, u, v, stride);
}

void whiten_single(const float* arms, const i64* chosen, i64 n, i64 dim, const double* theta, const double* factor,
                   double* u, double* v, i64 stride) {
    whiten_arms(arms, chosen, n, dim, theta, factor, u, v, stride);
}

#include "numerics/pair_kernels.hpp"

// -- rows of data -----------------------------------------------------------------------

// out_s = z_s . theta, four features at a time.
void margins(const double* z, i64 stride, i64 dim, const double* theta, i64 n, double* out) {
    i64 odd = dim % 4;
    for (i64 s = 0; s < n; s += LANES) {
        Lanes total = all(0.0);
        for (i64 k = 0; k < odd; k++) total += all(theta[k]) * load(z + k * stride + s);
        for (i64 k = odd; k < dim; k += 4) {
            const double* row = z + k * stride + s;
            total += (all(theta[k]) * load(row) + all(theta[k + 1]) * load(row + stride)) +
                     (all(theta[k + 2]) * load(row + 2 * stride) + all(theta[k + 3]) * load(row + 3 * stride));
        }
        store(out + s, total);
    }
}

// W mu(v) - O, W mu'(v) and W mu''(v) / 2 of every row for the logistic link, from a single exponential.
void logistic_model(const double* mass, const double* wins, const double* margins, i64 n, double* residual,
                    double* slopes, double* second_order) {
    for (i64 s = 0; s < n; s += LANES) {
        Lanes v = load(margins + s), w = load(mass + s);
        Lanes e = exp_neg_abs(v);
        Lanes inverse = 1.0 / (1.0 + e);
        Lanes p = v >= 0.0 ? inverse : e * inverse;
        Lanes there = w * e * inverse * inverse;
        store(slopes + s, there);
        store(second_order + s, there * (0.5 - p));
        store(residual + s, w * p - load(wins + s));
    }
}

// Replace moves of the margins by the residuals of the second-order model at the moved margins.
void model_residual(const double* residual, const double* slopes, const double* second_order, double* moves, i64 n) {
    for (i64 s = 0; s < n; s += LANES) {
        Lanes m = load(moves + s);
        store(moves + s, load(residual + s) + m * (load(slopes + s) + m * load(second_order + s)));
    }
}

double ridge_of(const Ridge& ridge, i64 k) { return ridge.scale ? ridge.common * ridge.scale[k] : ridge.common; }

// out = -ridge theta - sum residual_s z_s
void negative_gradient(const double* z, i64 stride, i64 dim, const double* residual, i64 n, Ridge ridge,
                       const double* theta, double* out) {
    for (i64 k = 0; k < dim; k++) out[k] = -ridge_of(ridge, k) * theta[k] - dot(residual, z + k * stride, n);
}

// Upper triangle of ridge + sum_s slopes_s z_s z_s'; `weighted` is scratch space for a row.
void fill_curvature(const double* z, i64 stride, i64 dim, const double* slopes, i64 n, Ridge ridge, double* weighted,
                    double* curvature) {
    for (i64 k = 0; k < dim; k++) {
        const double* row = z + k * stride;
        for (i64 s = 0; s < n; s += LANES) store(weighted + s, load(slopes + s) * load(row + s));
        for (i64 j = k; j < dim; j++) curvature[k * dim + j] = dot(weighted, z + j * stride, n);
        curvature[k * dim + k] += ridge_of(ridge, k);
    }
}

}  // namespace

extern const Kernels table;
const Kernels table = {
    NAME_OF(DUELIST_VECTORS),
    dot,
    same_bits,
    cholesky_update,
    cholesky_update_both,
    cholesky,
    solve_lower,
    solve_upper,
    multiply,
    whiten,
    whiten_single,
    argmax,
    largest_magnitude,
    squared_widths,
    gap_products,
    laplacian_product,
    multiply_symmetric,
    squared_distances,
    add_utilities,
    local_pair_values,
    best_of_all_pairs,
    widest_of_all_pairs,
    best_pair_candidates,
    pick_columns,
    signs,
    margins,
    logistic_model,
    model_residual,
    negative_gradient,
    fill_curvature,
};

}  // namespace DUELIST_VECTORS
}  // namespace duelist
