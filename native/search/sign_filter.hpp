// A single-precision filter for pairs: only the sign of a product decides whether a pair is evaluated exactly.
//
// A pair can reach the bound b if u_i + u_j + r |v_i - v_j| >= b. With h = u - b/2 <= 0 this is
//
//     Q_ij = r^2 |v_i - v_j|^2 - (h_i + h_j)^2 >= 0,
//
// and with a = r^2 |v|^2 - h^2, Q_ij = a_i + a_j - 2 (r^2 v_i . v_j + h_i h_j) is a product of dim + 3 factors per
// pair: (-2 r v_i, -2 h_i, 1, a_i) . (r v_j, h_j, a_j, 1). It is computed in float32, and only its sign bit is used.
//
// Rounding loses no pair. Let e be half an ulp of a float, sigma = r^2 |v|^2 + h^2 and K = dim + 3. Rounding the
// factors and adding K products in any order moves Q_ij by less than (2.1 K + 4) e (sigma_i + sigma_j), since 2 |x . y|
// <= |x|^2 + |y|^2. This bound is a sum over the two arms, so a_i is simply raised by (3 K + 16) e sigma_i. Pairs that
// pass are evaluated in float64 by the expressions of `pair_search.cpp`, which alone decide.
#pragma once

#include <vector>

#include "search/arm_table.hpp"

namespace duelist {

inline constexpr i64 BLOCK_ROWS = 64;
inline constexpr i64 BLOCK_COLUMNS = 512;
// Far above the underflow of products below 1e-38, far below the rounding error of 1.
inline constexpr double UNDERFLOW_OF_PRODUCTS = 1e-30;

// Selected arms in search order: no pair of value at least b has key_i + key_j < b.
struct SortedArms {
    std::vector<i64> arm;
    AlignedDoubles u, v;
    std::vector<double> key;
    i64 dim, stride;

    SortedArms(const ArmView& view, const std::vector<i64>& arms, std::vector<double> keys);
    i64 n() const { return static_cast<i64>(arm.size()); }
};

// The factors of the products, in the tiles that the kernel reads.
class SignFilter {
public:
    // With `negative`, look for set sign bits. The padding of the last tile never matches.
    SignFilter(i64 n, i64 features, bool negative);

    // Pack (r (v - c) / scale, 0, 0, 1) and store the squared length of the first part.
    void pack_features(const SortedArms& sorted, const double* center, double radius, double scale);
    void set(i64 arm, double h, double a) {
        filled_start_ = -1;  // the left side has to be packed again
        at(arm, features_) = static_cast<float>(h);
        at(arm, features_ + 1) = static_cast<float>(a);
    }
    double square(i64 arm) const { return squares_[static_cast<std::size_t>(arm)]; }

    // Signs of the products of rows start .. start + rows - 1 (with h multiplied by `times`) with the columns from
    // `column` on, one per chunk. `column` is a multiple of TILE.
    const unsigned char* signs(i64 start, i64 rows, i64 column, i64 columns, double times);

    static i64 chunks(i64 columns) { return (columns + CHUNK - 1) / CHUNK; }

private:
    i64 n_, features_, width_;
    bool negative_;
    AlignedBuffer<float> right_, left_;
    std::vector<double> squares_;
    std::vector<unsigned char> mask_;
    i64 filled_start_ = -1, filled_rows_ = 0;

    float& at(i64 arm, i64 k) { return right_[arm / TILE * TILE * width_ + k * TILE + arm % TILE]; }
};

// (3 K + 16) e for products of K = features + 3 floats.
inline double allowance(i64 features) { return (3.0 * static_cast<double>(features + 3) + 16.0) * 0.5 * 0x1.0p-23; }

// An upper bound on the rounding error of a value, a sum of keys, or the radius times a distance from a center.
//
// A squared width is a sum of dim terms with three roundings each, the root halves the relative error, and u_i + u_j +
// r |v_i - v_j| adds three roundings. A width is at most twice the largest distance from a center.
double rounding_noise(i64 dim, double largest_u, double radius, double largest_distance);

// The mean of a few thousand evenly spaced arms; exact if all arms are equal.
std::vector<double> sample_mean(const ArmView& view);

// Positions in order of decreasing values; ties keep their order.
std::vector<i64> descending(const std::vector<double>& values);

template <class T>
std::vector<T> picked(const std::vector<T>& values, const std::vector<i64>& positions) {
    std::vector<T> chosen(positions.size());
    for (std::size_t k = 0; k < positions.size(); k++) chosen[k] = values[static_cast<std::size_t>(positions[k])];
    return chosen;
}

}  // namespace duelist
