// Integer types, constants and elementary functions.
//
// The system's math library differs in the last bits between versions and processors, and runs must give the same bits
// on every machine. The engine therefore has its own elementary functions. The only one it takes from the system is the
// square root, which IEEE 754 defines exactly.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace duelist {

using i64 = std::int64_t;
using u64 = std::uint64_t;

inline constexpr double INF = std::numeric_limits<double>::infinity();
inline constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
inline constexpr double PI = 3.14159265358979323846;
inline constexpr double E = 2.71828182845904523536;
inline constexpr double LN2_HIGH = 6.93147180369123816490e-01;  // log 2 as a sum, so that k * LN2_HIGH is exact
inline constexpr double LN2_LOW = 1.90821492927058770002e-10;
inline constexpr double LOG2_E = 1.4426950408889634;
inline constexpr double ROUND = 6755399441055744.0;  // 1.5 * 2^52: adding and subtracting it rounds to an integer
inline constexpr double SMALLEST_EXPONENT = 700.0;   // exp(-700) = 1e-304; smaller values are clamped to it

// 2^k, for k from -1022 to 1023
inline double power_of_two(i64 k) { return std::bit_cast<double>((static_cast<u64>(k) + 1023) << 52); }

// exp(-|v|), to three units in the last place. `pair_kernels.hpp` has the same expressions for eight lanes.
//
// With x = -|v| = k log 2 + r and |r| <= log(2) / 2: a polynomial for exp(r), scaled by 2^k through the exponent bits.
inline double exp_neg_abs(double v) {
    double size = std::fabs(v);
    double x = -(SMALLEST_EXPONENT < size ? SMALLEST_EXPONENT : size);  // the comparison lets NaN pass
    double shifted = x * LOG2_E + ROUND;
    double k = shifted - ROUND;
    double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double square = r * r, fourth = square * square;
    // Estrin's scheme: it has shorter dependency chains than Horner's rule.
    double low = (1.0 + r) + square * (1.0 / 2.0 + r * (1.0 / 6.0));
    double middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + square * (1.0 / 720.0 + r * (1.0 / 5040.0));
    double high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + square * (1.0 / 3628800.0 + r * (1.0 / 39916800.0));
    double series = low + fourth * (middle + fourth * (high + fourth * (1.0 / 479001600.0)));
    // k is in the low bits
    return series * std::bit_cast<double>((std::bit_cast<u64>(shifted) << 52) + (u64{1023} << 52));
}

// log x for positive finite x: x = 2^k m with m near 1, and log m = 2 atanh(s) with s = (m - 1) / (m + 1).
inline double log(double x) {
    if (!(x > 0.0)) return x == 0.0 ? -INF : NOT_A_NUMBER;
    if (x == INF) return INF;
    double k = 0.0;
    if (x < std::numeric_limits<double>::min()) {
        x *= 18014398509481984.0;  // 2^54
        k = -54.0;
    }
    u64 bits = std::bit_cast<u64>(x);
    i64 exponent = static_cast<i64>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent += 1;
    }
    k += static_cast<double>(exponent);
    double f = m - 1.0;
    double s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
    double z2 = z * z, z4 = z2 * z2;
    double low = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
    double middle = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
    double high = (2.0 / 19.0 + z * (2.0 / 21.0)) + z2 * (2.0 / 23.0);
    double series = low + z4 * (middle + z4 * high);
    return k * LN2_HIGH - ((half_square - (s * (half_square + z * series) + k * LN2_LOW)) - f);
}

// log(1 + x), x > -1
inline double log1p(double x) {
    double u = 1.0 + x;
    if (u == 1.0) return x;
    return u == INF ? INF : log(u) + (x - (u - 1.0)) / u;
}

// x^power for x in [0, 1]
inline double pow_unit(double x, double power) { return x > 0.0 ? exp_neg_abs(power * log(x)) : 0.0; }

// cos(2 pi u) for u in [0, 1): fold u exactly onto an eighth of the circle, then use a Taylor series.
inline double cos_2pi(double u) {
    double fold = u > 0.5 ? 1.0 - u : u;  // by symmetry
    double sign = 1.0;
    if (fold > 0.25) {
        fold = 0.5 - fold;
        sign = -1.0;
    }
    bool by_sine = fold > 0.125;
    double x = 2.0 * PI * (by_sine ? 0.25 - fold : fold), square = x * x;
    double fourth = square * square, eighth = fourth * fourth;
    if (by_sine) {
        double low = (1.0 - square * (1.0 / 6.0)) + fourth * (1.0 / 120.0 - square * (1.0 / 5040.0));
        double high = (1.0 / 362880.0 - square * (1.0 / 39916800.0)) +
                      fourth * (1.0 / 6227020800.0 - square * (1.0 / 1307674368000.0));
        return sign * (x * (low + eighth * high));
    }
    double low = (1.0 - square * (1.0 / 2.0)) + fourth * (1.0 / 24.0 - square * (1.0 / 720.0));
    double high =
        (1.0 / 40320.0 - square * (1.0 / 3628800.0)) + fourth * (1.0 / 479001600.0 - square * (1.0 / 87178291200.0));
    return sign * (low + eighth * (high + eighth * (1.0 / 20922789888000.0)));
}

// erfc(x), by the rational approximations of W. J. Cody (Mathematics of Computation 23, 1969).
inline double erfc(double x) {
    double y = std::fabs(x), result;
    if (y <= 0.46875) {
        constexpr double A[] = {3.16112374387056560e00, 1.13864154151050156e02, 3.77485237685302021e02,
                                3.20937758913846947e03, 1.85777706184603153e-1};
        constexpr double B[] = {2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03,
                                2.84423683343917062e03};
        double square = y * y, top = A[4] * square, bottom = square;
        for (int k = 0; k < 3; k++) {
            top = (top + A[k]) * square;
            bottom = (bottom + B[k]) * square;
        }
        return 1.0 - x * (top + A[3]) / (bottom + B[3]);
    }
    if (y <= 4.0) {
        constexpr double C[] = {5.64188496988670089e-1, 8.88314979438837594e00, 6.61191906371416295e01,
                                2.98635138197400131e02, 8.81952221241769090e02, 1.71204761263407058e03,
                                2.05107837782607147e03, 1.23033935479799725e03, 2.15311535474403846e-8};
        constexpr double D[] = {1.57449261107098347e01, 1.17693950891312499e02, 5.37181101862009858e02,
                                1.62138957456669019e03, 3.29079923573345963e03, 4.36261909014324716e03,
                                3.43936767414372164e03, 1.23033935480374942e03};
        double top = C[8] * y, bottom = y;
        for (int k = 0; k < 7; k++) {
            top = (top + C[k]) * y;
            bottom = (bottom + D[k]) * y;
        }
        result = (top + C[7]) / (bottom + D[7]);
    } else {
        if (y >= 26.5) return x > 0.0 ? 0.0 : 2.0;  // exp_neg_abs(y^2) is clamped from here on and would stop falling
        constexpr double P[] = {3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
                                1.60837851487422766e-2, 6.58749161529837803e-4, 1.63153871373020978e-2};
        constexpr double Q[] = {2.56852019228982242e00, 1.87295284992346047e00, 5.27905102951428412e-1,
                                6.05183413124413191e-2, 2.33520497626869185e-3};
        double square = 1.0 / (y * y), top = P[5] * square, bottom = square;
        for (int k = 0; k < 4; k++) {
            top = (top + P[k]) * square;
            bottom = (bottom + Q[k]) * square;
        }
        result = square * (top + P[4]) / (bottom + Q[4]);
        result = (0.56418958354775628695 - result) / y;
    }
    double coarse = std::trunc(y * 16.0) / 16.0;  // y^2 as a sum whose first part is exact
    double rest = (y - coarse) * (y + coarse);
    result *= exp_neg_abs(coarse * coarse) * exp_neg_abs(rest);
    return x > 0.0 ? result : 2.0 - result;
}

}  // namespace duelist
