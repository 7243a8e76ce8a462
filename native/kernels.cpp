// See kernels.hpp. Compiled once a vector width, with DUELIST_VECTORS as the name of the version.
#include <new>

#include "kernels.hpp"

#define STRING_OF(name) #name
#define NAME_OF(name) STRING_OF(name)

namespace duelist {
namespace DUELIST_VECTORS {
namespace {

typedef double Lanes __attribute__((vector_size(64)));
typedef i64 Whole __attribute__((vector_size(64)));

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

// a . b in eight lanes that are added at the end; what is left over joins the first lane.
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
        for (i64 k = start; k < stop; k++) {  // no way out inside the loop, so that it becomes vector instructions
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

// Rotate what is left of z into row k of the factor.
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

// R becomes the factor of R'R + weight zz'; `rest` is room for dim numbers.
void cholesky_update(double* factor, i64 dim, const double* z, double weight, double* rest) {
    double size = __builtin_sqrt(weight);
    for (i64 k = 0; k < dim; k++) rest[k] = size * z[k];
    for (i64 k = 0; k < dim; k++) rotate(factor + k * dim, rest, k, dim);
}

// Two factors with the same z. Each rotation waits for a root and a quotient of the one before it; two chains side by side
// take as long as one.
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

// The upper factor of a matrix, in place, from its upper triangle; false if it is not positive definite.
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

// In few dimensions an entry waits for the one before it, and little else counts: that one is taken in last,
// and multiplied by a reciprocal, which waits for nothing.

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

// GROUPS times eight columns, `across` apart in a row, become R'^-1 of what they are. Earlier entries are subtracted one after the
// other in their order, four at a time, so that a column is read and written a quarter as often.
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
            x3[g] = (((load(at + 3 * across) - all(r0[k + 3]) * x0[g]) - all(r1[k + 3]) * x1[g]) -
                     all(r2[k + 3]) * x2[g]) *
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

// Utilities and columns of GROUPS times eight arms from `a` on. `v` is where their columns go, `across` apart.
template <int GROUPS, class Real>
inline void look_at_some(const Real* arms, const i64* chosen, i64 a, i64 n, i64 dim, const double* theta,
                         const double* factor, const double* inverse, double* u, double* v, i64 across) {
    for (int g = 0; g < GROUPS; g++) {
        const Real* rows[LANES];
        for (i64 lane = 0; lane < LANES; lane++) {  // past the end, the last arm stands in
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

// Where the columns of all arms do not fit into the first cache together, some are whitened in a place of their own, sixteen at a
// time, and sixty-four are written out at once: memory likes long stretches.
template <class Real>
void look_at(const Real* arms, const i64* chosen, i64 n, i64 dim, const double* theta, const double* factor, double* u,
             double* v, i64 stride) {
    constexpr i64 KEPT = 64;      // features up to which there is room on the stack
    constexpr i64 CACHED = 2048;  // numbers that certainly fit into the first cache
    constexpr i64 BOTH = 2 * LANES, WIDE = 4 * BOTH;
    bool whiten = v && factor, apart = whiten && stride > BOTH && dim * stride > CACHED;
    alignas(64) double few[KEPT], near[KEPT * WIDE];
    double *inverse = few, *tile = near, *room = nullptr;
    if (whiten && dim > KEPT) {
        room = static_cast<double*>(::operator new(sizeof(double) * dim * (1 + WIDE), std::align_val_t(64)));
        tile = room;
        inverse = room + dim * WIDE;
    }
    for (i64 k = 0; whiten && k < dim; k++) inverse[k] = 1.0 / factor[k * dim + k];
    for (i64 start = 0; start < n; start += WIDE) {
        i64 stop = start + WIDE < n ? start + WIDE : n;
        for (i64 a = start; a < stop; a += BOTH) {
            double* to = apart ? tile + (a - start) * dim : (v ? v + a : nullptr);
            i64 across = apart ? BOTH : stride;
            if (a + LANES < stop)
                look_at_some<2>(arms, chosen, a, n, dim, theta, factor, inverse, u, to, across);
            else
                look_at_some<1>(arms, chosen, a, n, dim, theta, factor, inverse, u, to, across);
        }
        for (i64 k = 0; apart && k < dim; k++)
            for (i64 a = start; a < stop; a += LANES) {
                i64 done = a - start;
                store(v + k * stride + a, load(tile + done / BOTH * BOTH * dim + k * BOTH + done % BOTH));
            }
    }
    if (room) ::operator delete(room, std::align_val_t(64));
}

void look(const double* arms, const i64* chosen, i64 n, i64 dim, const double* theta, const double* factor, double* u,
          double* v, i64 stride) {
    look_at(arms, chosen, n, dim, theta, factor, u, v, stride);
}

void look_single(const float* arms, const i64* chosen, i64 n, i64 dim, const double* theta, const double* factor,
                 double* u, double* v, i64 stride) {
    look_at(arms, chosen, n, dim, theta, factor, u, v, stride);
}

// -- elementary functions ---------------------------------------------------------------

// exp(-|v|): the expressions of numbers.hpp, eight at a time.
inline Lanes exp_of_minus_abs(Lanes v) {
    Lanes size = v < 0.0 ? -v : v;
    Lanes x = -(SMALLEST_EXPONENT < size ? all(SMALLEST_EXPONENT) : size);
    Lanes shifted = x * LOG2_E + ROUND;
    Lanes k = shifted - ROUND;
    Lanes r = (x - k * LN2_HIGH) - k * LN2_LOW;
    Lanes square = r * r, fourth = square * square;
    Lanes low = (1.0 + r) + square * (1.0 / 2.0 + r * (1.0 / 6.0));
    Lanes middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + square * (1.0 / 720.0 + r * (1.0 / 5040.0));
    Lanes high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + square * (1.0 / 3628800.0 + r * (1.0 / 39916800.0));
    Lanes series = low + fourth * (middle + fourth * (high + fourth * (1.0 / 479001600.0)));
    Whole bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 52) + ((i64)1023 << 52);  // k lies in the low bits of the sum
    Lanes power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return series * power;
}

// log x of positive numbers that are not tiny: the expressions of numbers.hpp.
inline Lanes log_of(Lanes x) {
    Whole bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    Whole exponent = (bits >> 52) - 1023;
    bits = (bits & 0x000FFFFFFFFFFFFFll) | 0x3FF0000000000000ll;
    Lanes m;
    __builtin_memcpy(&m, &bits, sizeof m);
    Whole large = m > 1.4142135623730951;  // -1 where it is
    m = large ? m * 0.5 : m;
    exponent = (exponent - large) + 0x4338000000000000ll;  // the bits of ROUND: whole numbers become doubles by adding it
    Lanes k;
    __builtin_memcpy(&k, &exponent, sizeof k);
    k = k - ROUND;
    Lanes f = m - 1.0;
    Lanes s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
    Lanes z2 = z * z, z4 = z2 * z2;
    Lanes low = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
    Lanes middle = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
    Lanes high = (2.0 / 19.0 + z * (2.0 / 21.0)) + z2 * (2.0 / 23.0);
    Lanes series = low + z4 * (middle + z4 * high);
    return k * LN2_HIGH - ((half_square - (s * (half_square + z * series) + k * LN2_LOW)) - f);
}

// log(1 + x), x >= 0
inline Lanes log1p_of(Lanes x) {
    Lanes u = 1.0 + x;
    return log_of(u) + (x - (u - 1.0)) / u;
}

// -- pairs ------------------------------------------------------------------------------

// Position of the first largest value.
i64 argmax(const double* values, i64 n) {
    if (n < 2 * LANES) {
        i64 best = 0;
        for (i64 i = 1; i < n; i++)
            if (values[i] > values[best]) best = i;
        return best;
    }
    i64 whole = n - n % LANES;
    Lanes top = load(values);
    for (i64 i = LANES; i < whole; i += LANES) {
        Lanes x = load(values + i);
        top = x > top ? x : top;
    }
    double most = top[0];
    for (int k = 1; k < LANES; k++) most = larger(most, top[k]);
    for (i64 i = whole; i < n; i++) most = larger(most, values[i]);
    for (i64 i = 0; i < n; i++)
        if (values[i] == most) return i;
    return 0;  // only where a value is not a number
}

// max |value|; 0 if there are none
double largest_size(const double* values, i64 n) {
    double most = 0.0;
    for (i64 i = 0; i < n; i++) most = larger(most, __builtin_fabs(values[i]));
    return most;
}

inline Lanes squares_of_eight(const double* v, i64 stride, i64 dim, i64 arm, i64 at) {
    Lanes total = all(0.0);
    for (i64 k = 0; k < dim; k++) {
        Lanes gap = load(v + k * stride + at) - all(v[k * stride + arm]);
        total += gap * gap;
    }
    return total;
}

// out[j] = |v_arm - v_{start + j}|^2 for start + j < stop
void squared_widths(const double* v, i64 stride, i64 dim, i64 arm, i64 start, i64 stop, double* out) {
    for (i64 at = start; at < stop; at += LANES)
        store(out + at - start, squares_of_eight(v, stride, dim, arm, at));
}

// out[j] = |v_j - centre|^2
void squared_distances(const double* v, i64 stride, i64 dim, const double* centre, i64 n, double* out) {
    for (i64 at = 0; at < n; at += LANES) {
        Lanes total = all(0.0);
        for (i64 k = 0; k < dim; k++) {
            Lanes gap = load(v + k * stride + at) - all(centre[k]);
            total += gap * gap;
        }
        store(out + at, total);
    }
}

// From squared widths to own + u_j + radius |..|
void add_utilities(double own, const double* u, double radius, double* squares, i64 n) {
    for (i64 j = 0; j < n; j += LANES)
        store(squares + j, (all(own) + load(u + j)) + all(radius) * root(load(squares + j)));
}

void local_worths(double own, const double* u, const double* squares, double stretch, double horizon, double* out,
                  i64 n) {
    for (i64 j = 0; j < n; j += LANES) {
        Lanes other = load(u + j), square = load(squares + j);
        Lanes e = exp_of_minus_abs(own - other);
        Lanes slope = e / ((1.0 + e) * (1.0 + e));
        Lanes rounds = log1p_of(horizon * slope * square);
        Lanes boundary = rounds - log1p_of(rounds);
        boundary = boundary > 0.0 ? boundary : all(0.0);
        Lanes certainty = exp_of_minus_abs(0.2 * log_of(slope / 0.25));
        store(out + j, (own + other) + root(square) * root(stretch * certainty * boundary));
    }
}

// argmax over i < j of u_i + u_j + radius |v_i - v_j| and of the best arm against itself; equal ones: the first.
FoundPair best_of_all_pairs(const double* u, const double* v, i64 n, i64 stride, i64 dim, double radius, double* line) {
    i64 first = argmax(u, n), second = first;
    double best = u[first] + u[first];
    for (i64 i = 0; i + 1 < n; i++) {
        i64 count = n - i - 1;
        squared_widths(v, stride, dim, i, i + 1, n, line);
        add_utilities(u[i], u + i + 1, radius, line, count);
        i64 j = argmax(line, count);
        if (line[j] > best) {
            first = i;
            second = i + 1 + j;
            best = line[j];
        }
    }
    return {first, second, best};
}

// The widest pair and its squared width; (0, 0, 0) if all arms are equal.
FoundPair widest_of_all_pairs(const double* v, i64 n, i64 stride, i64 dim, double* line) {
    FoundPair found{0, 0, 0.0};
    for (i64 i = 0; i + 1 < n; i++) {
        squared_widths(v, stride, dim, i, i + 1, n, line);
        i64 j = argmax(line, n - i - 1);
        if (line[j] > found.value) found = {i, i + 1 + j, line[j]};
    }
    return found;
}

// Lists the arms that may be in the best pair, in order; how many they are.
//
// With c the arm of the largest u and s_i = u_i + radius |v_i - c|, a pair is worth at most s_i + s_j. The pairs of c, and
// of the arm that challenges it most, bound the maximum from below.
i64 promising(const double* u, const double* v, i64 n, i64 stride, i64 dim, double radius, double* reach, double* line,
              i64* kept) {
    constexpr double ROUNDING = 1e-12;  // thousands of times what sums of some hundred terms can lose
    i64 top = argmax(u, n);
    squared_widths(v, stride, dim, top, 0, n, reach);
    add_utilities(0.0, u, radius, reach, n);
    i64 rival = argmax(reach, n);
    double farthest = reach[rival];
    double bound = u[top] + farthest;
    squared_widths(v, stride, dim, rival, 0, n, line);
    add_utilities(u[rival], u, radius, line, n);
    bound = larger(bound, line[argmax(line, n)]);
    double size = larger(largest_size(u, n), larger(__builtin_fabs(farthest), __builtin_fabs(bound)));
    double floor = bound - farthest - ROUNDING * size;
    i64 count = 0;
    for (i64 j = 0; j < n; j++) {
        kept[count] = j;
        count += reach[j] >= floor;  // without a branch, which would be guessed wrong half the time
    }
    return count;
}

// The columns of v that are listed in `kept`.
void pick_columns(const double* v, i64 stride, i64 dim, const i64* kept, i64 count, double* out, i64 out_stride) {
    for (i64 k = 0; k < dim; k++) {
        const double* row = v + k * stride;
        double* to = out + k * out_stride;
        for (i64 a = 0; a < count; a++) to[a] = row[kept[a]];
    }
}

// -- signs of products, in single precision ---------------------------------------------

typedef float Floats __attribute__((vector_size(64)));
typedef std::int32_t Bits __attribute__((vector_size(64)));

constexpr i64 DOWN = 4;  // rows at a time

inline Floats load_floats(const float* p) {
    Floats x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
inline Floats all_floats(float x) { return Floats{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
inline Bits bits_of(Floats x) {
    Bits b;
    __builtin_memcpy(&b, &x, sizeof b);
    return b;
}

// Products of DOWN rows with one tile, folded into what is known of the signs of the chunk.
template <int ROWS>
inline void fold_tile(const float* left, const float* tile, i64 width, bool negative, Bits* signs) {
    Floats product[ROWS];
    for (int r = 0; r < ROWS; r++) product[r] = all_floats(0.0f);
    for (i64 k = 0; k < width; k++) {
        Floats column = load_floats(tile + k * TILE);
        for (int r = 0; r < ROWS; r++) product[r] += all_floats(left[r * width + k]) * column;
    }
    for (int r = 0; r < ROWS; r++) signs[r] = negative ? signs[r] | bits_of(product[r]) : signs[r] & bits_of(product[r]);
}

template <int ROWS>
void signs_of_rows(const SignBlock& block, i64 row) {
    i64 chunks = (block.columns + CHUNK - 1) / CHUNK;
    for (i64 c = 0; c < chunks; c++) {
        Bits start = (Bits){} - (block.negative ? 0 : 1), signs[ROWS];
        for (int r = 0; r < ROWS; r++) signs[r] = start;
        i64 stop = (c + 1) * CHUNK < block.columns ? (c + 1) * CHUNK : block.columns;
        for (i64 at = c * CHUNK; at < stop; at += TILE)
            fold_tile<ROWS>(block.left + row * block.width, block.right + at * block.width, block.width, block.negative,
                            signs);
        for (int r = 0; r < ROWS; r++) {
            std::int32_t folded = signs[r][0];
            for (int lane = 1; lane < TILE; lane++)
                folded = block.negative ? folded | signs[r][lane] : folded & signs[r][lane];
            block.mask[(row + r) * chunks + c] = block.negative ? folded < 0 : folded >= 0;
        }
    }
}

void signs(const SignBlock& block) {
    i64 row = 0;
    for (; row + DOWN <= block.rows; row += DOWN) signs_of_rows<DOWN>(block, row);
    for (; row < block.rows; row++) signs_of_rows<1>(block, row);
}

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

// W mu(v) - O, W mu'(v) and W mu''(v) / 2 of every row for the logistic link, from one exponential.
void logistic_model(const double* mass, const double* wins, const double* margins, i64 n, double* residual,
                    double* slopes, double* bends) {
    for (i64 s = 0; s < n; s += LANES) {
        Lanes v = load(margins + s), w = load(mass + s);
        Lanes e = exp_of_minus_abs(v);
        Lanes inverse = 1.0 / (1.0 + e);
        Lanes p = v >= 0.0 ? inverse : e * inverse;
        Lanes there = w * e * inverse * inverse;
        store(slopes + s, there);
        store(bends + s, there * (0.5 - p));
        store(residual + s, w * p - load(wins + s));
    }
}

// Moves of the margins become the residuals of the model there.
void model_residual(const double* residual, const double* slopes, const double* bends, double* moves, i64 n) {
    for (i64 s = 0; s < n; s += LANES) {
        Lanes m = load(moves + s);
        store(moves + s, load(residual + s) + m * (load(slopes + s) + m * load(bends + s)));
    }
}

double ridge_of(const Ridge& ridge, i64 k) { return ridge.sizes ? ridge.common * ridge.sizes[k] : ridge.common; }

// out = -ridge theta - sum residual_s z_s
void negative_gradient(const double* z, i64 stride, i64 dim, const double* residual, i64 n, Ridge ridge,
                       const double* theta, double* out) {
    for (i64 k = 0; k < dim; k++) out[k] = -ridge_of(ridge, k) * theta[k] - dot(residual, z + k * stride, n);
}

// The upper triangle of the ridge + sum slopes zz'; `weighted` is room for a row.
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
    look,
    look_single,
    argmax,
    largest_size,
    squared_widths,
    squared_distances,
    add_utilities,
    local_worths,
    best_of_all_pairs,
    widest_of_all_pairs,
    promising,
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
