// Part of `kernels.cpp`, which includes it inside its namespaces: vectorized elementary functions, pairs of arms, and
// signs of products.

// -- elementary functions ---------------------------------------------------------------

// exp(-|v|), by the expressions of elementary.hpp in eight lanes.
inline Lanes exp_neg_abs(Lanes v) {
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
    IntLanes bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 52) + ((i64)1023 << 52);  // k is in the low bits of the sum
    Lanes power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return series * power;
}

// log x for positive normal x, by the expressions of elementary.hpp.
inline Lanes log_of(Lanes x) {
    IntLanes bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    IntLanes exponent = (bits >> 52) - 1023;
    bits = (bits & 0x000FFFFFFFFFFFFFll) | 0x3FF0000000000000ll;
    Lanes m;
    __builtin_memcpy(&m, &bits, sizeof m);
    IntLanes large = m > 1.4142135623730951;  // -1 in the lanes where it is true
    m = large ? m * 0.5 : m;
    exponent = (exponent - large) + 0x4338000000000000ll;  // adding the bits of ROUND converts an integer to a double
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

// Index of the first maximum.
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
    return 0;  // only if a value is NaN
}

// max |value|, or 0 if there are no values
double largest_magnitude(const double* values, i64 n) {
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
    for (i64 at = start; at < stop; at += LANES) store(out + at - start, squares_of_eight(v, stride, dim, arm, at));
}

// out[j] = (v_arm - v_{start + j}) . (y_arm - y_{start + j}) for start + j < stop
void gap_products(const double* v, const double* y, i64 stride, i64 dim, i64 arm, i64 start, i64 stop, double* out) {
    for (i64 at = start; at < stop; at += LANES) {
        Lanes total = all(0.0);
        for (i64 k = 0; k < dim; k++) {
            i64 row = k * stride;
            total += (load(v + row + at) - all(v[row + arm])) * (load(y + row + at) - all(y[row + arm]));
        }
        store(out + at - start, total);
    }
}

// Add to `out` the product of v with the Laplacian of one arm's edges: out_arm += w_j (v_arm - v_{start + j}), and
// out_{start + j} -= the same. The weights are zero-padded to a whole vector.
void laplacian_product(const double* v, i64 stride, i64 dim, i64 arm, i64 start, i64 stop, const double* weights,
                       double* out) {
    for (i64 k = 0; k < dim; k++) {
        const double* from = v + k * stride;
        double* to = out + k * stride;
        Lanes total = all(0.0);
        for (i64 at = start; at < stop; at += LANES) {
            Lanes force = load(weights + at - start) * (all(from[arm]) - load(from + at));
            total += force;
            store(to + at, load(to + at) - force);
        }
        to[arm] += joined(total);
    }
}

// out = matrix v, for a symmetric matrix with dim rows.
void multiply_symmetric(const double* matrix, i64 dim, const double* v, i64 stride, i64 n, double* out) {
    for (i64 k = 0; k < dim; k++)
        for (i64 at = 0; at < n; at += LANES) {
            Lanes total = all(0.0);
            for (i64 l = 0; l < dim; l++) total += all(matrix[k * dim + l]) * load(v + l * stride + at);
            store(out + k * stride + at, total);
        }
}

// out[j] = |v_j - center|^2
void squared_distances(const double* v, i64 stride, i64 dim, const double* center, i64 n, double* out) {
    for (i64 at = 0; at < n; at += LANES) {
        Lanes total = all(0.0);
        for (i64 k = 0; k < dim; k++) {
            Lanes gap = load(v + k * stride + at) - all(center[k]);
            total += gap * gap;
        }
        store(out + at, total);
    }
}

// Replace squared widths by own + u_j + radius * width.
void add_utilities(double own, const double* u, double radius, double* squares, i64 n) {
    for (i64 j = 0; j < n; j += LANES)
        store(squares + j, (all(own) + load(u + j)) + all(radius) * root(load(squares + j)));
}

void local_pair_values(double own, const double* u, const double* squares, double stretch, double horizon, double* out,
                       i64 n) {
    for (i64 j = 0; j < n; j += LANES) {
        Lanes other = load(u + j), square = load(squares + j);
        Lanes e = exp_neg_abs(own - other);
        Lanes slope = e / ((1.0 + e) * (1.0 + e));
        Lanes rounds = log1p_of(horizon * slope * square);
        Lanes boundary = rounds - log1p_of(rounds);
        boundary = boundary > 0.0 ? boundary : all(0.0);
        Lanes certainty = exp_neg_abs(0.2 * log_of(slope / 0.25));
        store(out + j, (own + other) + root(square) * root(stretch * certainty * boundary));
    }
}

// argmax over i < j of u_i + u_j + radius |v_i - v_j|, and over the best arm against itself. Ties go to the first pair.
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

// List, in order, the arms that can be in the best pair; return their number.
//
// With c the arm of largest u and s_i = u_i + radius |v_i - c|, the value of a pair is at most s_i + s_j. The pairs of
// c, and those of the best partner of c, bound the maximum from below.
i64 best_pair_candidates(const double* u, const double* v, i64 n, i64 stride, i64 dim, double radius, double* reach,
                         double* line, i64* kept) {
    constexpr double ROUNDING = 1e-12;  // thousands of times the rounding error of a sum of some hundred terms
    i64 top = argmax(u, n);
    squared_widths(v, stride, dim, top, 0, n, reach);
    add_utilities(0.0, u, radius, reach, n);
    i64 rival = argmax(reach, n);
    double farthest = reach[rival];
    double bound = u[top] + farthest;
    squared_widths(v, stride, dim, rival, 0, n, line);
    add_utilities(u[rival], u, radius, line, n);
    bound = larger(bound, line[argmax(line, n)]);
    double size = larger(largest_magnitude(u, n), larger(__builtin_fabs(farthest), __builtin_fabs(bound)));
    double floor = bound - farthest - ROUNDING * size;
    i64 count = 0;
    for (i64 j = 0; j < n; j++) {
        kept[count] = j;
        count += reach[j] >= floor;  // branch-free, because the branch would be mispredicted half of the time
    }
    return count;
}

// Copy the columns of v that `kept` lists.
void pick_columns(const double* v, i64 stride, i64 dim, const i64* kept, i64 count, double* out, i64 out_stride) {
    for (i64 k = 0; k < dim; k++) {
        const double* row = v + k * stride;
        double* to = out + k * out_stride;
        for (i64 a = 0; a < count; a++) to[a] = row[kept[a]];
    }
}

// -- signs of products, in single precision ---------------------------------------------

typedef float FloatLanes __attribute__((vector_size(64)));
typedef std::int32_t FloatBits __attribute__((vector_size(64)));

constexpr i64 ROWS_PER_STEP = 4;  // rows per step

inline FloatLanes load_floats(const float* p) {
    FloatLanes x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
inline FloatLanes all_floats(float x) { return FloatLanes{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
inline FloatBits bits_of(FloatLanes x) {
    FloatBits b;
    __builtin_memcpy(&b, &x, sizeof b);
    return b;
}

// Multiply ROWS rows with one tile and combine the sign bits with those of the chunk so far.
template <int ROWS>
inline void accumulate_signs(const float* left, const float* tile, i64 width, bool negative, FloatBits* signs) {
    FloatLanes product[ROWS];
    for (int r = 0; r < ROWS; r++) product[r] = all_floats(0.0f);
    for (i64 k = 0; k < width; k++) {
        FloatLanes column = load_floats(tile + k * TILE);
        for (int r = 0; r < ROWS; r++) product[r] += all_floats(left[r * width + k]) * column;
    }
    for (int r = 0; r < ROWS; r++)
        signs[r] = negative ? signs[r] | bits_of(product[r]) : signs[r] & bits_of(product[r]);
}

template <int ROWS>
void signs_of_rows(const SignBlock& block, i64 row) {
    i64 chunks = (block.columns + CHUNK - 1) / CHUNK;
    for (i64 c = 0; c < chunks; c++) {
        FloatBits start = (FloatBits){} - (block.negative ? 0 : 1), signs[ROWS];
        for (int r = 0; r < ROWS; r++) signs[r] = start;
        i64 stop = (c + 1) * CHUNK < block.columns ? (c + 1) * CHUNK : block.columns;
        for (i64 at = c * CHUNK; at < stop; at += TILE)
            accumulate_signs<ROWS>(block.left + row * block.width, block.right + at * block.width, block.width,
                                   block.negative, signs);
        for (int r = 0; r < ROWS; r++) {
            std::int32_t combined = signs[r][0];
            for (int lane = 1; lane < TILE; lane++)
                combined = block.negative ? combined | signs[r][lane] : combined & signs[r][lane];
            block.mask[(row + r) * chunks + c] = block.negative ? combined < 0 : combined >= 0;
        }
    }
}

void signs(const SignBlock& block) {
    i64 row = 0;
    for (; row + ROWS_PER_STEP <= block.rows; row += ROWS_PER_STEP) signs_of_rows<ROWS_PER_STEP>(block, row);
    for (; row < block.rows; row++) signs_of_rows<1>(block, row);
}
