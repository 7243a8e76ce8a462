// Which pairs of a block can matter: the sign of one product in single precision, then exact values.
//
// A pair can reach the bound b if u_i + u_j + r |v_i - v_j| >= b. With h = u - b/2 <= 0 that is
//
//     Q_ij = r^2 |v_i - v_j|^2 - (h_i + h_j)^2 >= 0,
//
// and Q_ij = a_i + a_j - 2 (r^2 v_i . v_j + h_i h_j) with a = r^2 |v|^2 - h^2 is a product of dim + 3 numbers a pair:
// (-2 r v_i, -2 h_i, 1, a_i) . (r v_j, h_j, a_j, 1). It is computed in float32, and only its sign bit is looked at.
//
// No pair is lost to rounding. With e half an ulp of a float, sigma = r^2 |v|^2 + h^2 and K = dim + 3, rounding the
// factors and adding K products in any order moves Q_ij by less than (2.1 K + 4) e (sigma_i + sigma_j), since
// 2 |x . y| <= |x|^2 + |y|^2. The error belongs to the arms one by one, so a_i is simply raised by (3 K + 16) e sigma_i. What
// passes is computed again in float64, with the very expressions of `pairs.cpp`, which alone decide.
#pragma once

#include <vector>

#include "search/arm_table.hpp"

namespace duelist {

inline constexpr i64 BLOCK_ROWS = 64;
inline constexpr i64 BLOCK_COLUMNS = 512;
inline constexpr double UNDERFLOW_OF_PRODUCTS =
    1e-30;  // far above what products lose below 1e-38, far below any rounding of 1

// Arms picked and put in order for a search: no pair of value at least b has key_i + key_j < b.
struct SortedArms {
    std::vector<i64> arm;
    AlignedDoubles u, v;
    std::vector<double> key;
    i64 dim, stride;

    SortedArms(const ArmView& view, const std::vector<i64>& arms, std::vector<double> keys);
    i64 n() const { return static_cast<i64>(arm.size()); }
};

// The factors of the products, in the tiles that the kernel reads, and the left side of some rows.
class SignFilter {
public:
    // `negative`: whether signs are looked for that are set; those of what pads the last tile never are.
    SignFilter(i64 n, i64 features, bool negative);

    // (r (v - c) / scale, 0, 0, 1); keeps the squared length of the first part of each.
    void pack_features(const SortedArms& sorted, const double* centre, double radius, double scale);
    void set(i64 arm, double h, double a) {
        filled_start_ = -1;  // the left side is read from the factors again
        at(arm, features_) = static_cast<float>(h);
        at(arm, features_ + 1) = static_cast<float>(a);
    }
    double square(i64 arm) const { return squares_[static_cast<std::size_t>(arm)]; }

    // Signs of the products of rows start .. start + rows - 1 (h multiplied by `times`) with columns from `column` on, which is
    // a multiple of TILE; one answer a chunk.
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

// More than rounding can move a value, a key sum, or a distance from a centre times the radius.
//
// A squared width is a sum of dim terms, each with three roundings; the root halves its relative error;
// u_i + u_j + r |v_i - v_j| adds three more. No width exceeds twice the largest distance from a centre.
double rounding_noise(i64 dim, double largest_u, double radius, double largest_distance);

// The mean of some thousand arms, evenly spread; exact where all arms are equal.
std::vector<double> sample_mean(const ArmView& view);

// Positions from the largest value to the smallest, equal ones in their order.
std::vector<i64> descending(const std::vector<double>& values);

template <class T>
std::vector<T> picked(const std::vector<T>& values, const std::vector<i64>& positions) {
    std::vector<T> chosen(positions.size());
    for (std::size_t k = 0; k < positions.size(); k++) chosen[k] = values[static_cast<std::size_t>(positions[k])];
    return chosen;
}

}  // namespace duelist
