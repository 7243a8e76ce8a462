// Links: how a difference of utilities v becomes the chance mu(v) that the first arm wins; mu(v) + mu(-v) = 1.
//
// A link is a type that carries everything there is to supply: its name, mu, its slope mu', the potential M with M' = mu,
// the largest slope, and `bend`, a bound on |d log mu' / dv| near v that says how far a Newton step can be trusted. To add
// one, write the type and list it in `with_link`; nothing else in the engine knows which links there are.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "numerics/elementary.hpp"

namespace duelist {

enum class Link : int { logistic, probit, exponential };

// mu(v) = 1/(1 + e^-v): Bradley-Terry-Luce.
struct Logistic {
    static constexpr Link code = Link::logistic;
    static constexpr const char* name = "logistic";
    static constexpr double max_slope = 0.25;
    static double mean(double v) {
        double e = exp_neg_abs(v);
        return v >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    }
    static double slope(double v) {
        double e = exp_neg_abs(v);
        return e / ((1.0 + e) * (1.0 + e));
    }
    static double potential(double v) { return std::max(v, 0.0) + log1p(exp_neg_abs(v)); }
    static double bend(double, double) { return 1.0; }
};

// mu(v) = Phi(v): Thurstone-Mosteller.
struct Probit {
    static constexpr Link code = Link::probit;
    static constexpr const char* name = "probit";
    static constexpr double max_slope = 0.39894228040143267794;  // 1 / sqrt(2 pi)
    static double mean(double v) { return 0.5 * erfc(-v * 0.70710678118654752440); }
    static double slope(double v) { return max_slope * exp_neg_abs(0.5 * v * v); }
    static double potential(double v) { return v * mean(v) + slope(v); }
    static double bend(double v, double move) { return std::fabs(v) + move; }
};

// mu(v) = e^v / 2 below zero, 1 - e^-v / 2 above: exponential noise.
struct Exponential {
    static constexpr Link code = Link::exponential;
    static constexpr const char* name = "exponential";
    static constexpr double max_slope = 0.5;
    static double mean(double v) {
        double half = 0.5 * exp_neg_abs(v);
        return v >= 0.0 ? 1.0 - half : half;
    }
    static double slope(double v) { return 0.5 * exp_neg_abs(v); }
    static double potential(double v) { return std::max(v, 0.0) + 0.5 * exp_neg_abs(v); }
    static double bend(double, double) { return 1.0; }
};

// Call `action` with the type of the link.
template <class Action>
decltype(auto) with_link(Link link, Action&& action) {
    switch (link) {
        case Link::logistic: return action(Logistic{});
        case Link::probit: return action(Probit{});
        case Link::exponential: return action(Exponential{});
    }
    throw std::logic_error("a link of number " + std::to_string(static_cast<int>(link)) + " is not known");
}

inline Link link_from_name(const std::string& name) {
    for (Link link : {Link::logistic, Link::probit, Link::exponential})
        if (with_link(link, [&](auto l) { return name == l.name; })) return link;
    throw std::invalid_argument("link is '" + name + "'; the engine knows logistic, probit and exponential");
}

inline double mean(Link link, double v) {
    return with_link(link, [v](auto l) { return l.mean(v); });
}
inline double slope(Link link, double v) {
    return with_link(link, [v](auto l) { return l.slope(v); });
}
// A gap of utilities as far as it says how certain an outcome is: what is known only to within more than 8, as of an arm that joins with a
// feature far larger than any before, counts in parts of that doubt. At its word, nobody would ever ask about such an arm.
inline double shrunk_gap(double gap, double square) {
    constexpr double MOST = 64.0;
    return square > MOST ? gap * std::sqrt(MOST / square) : gap;
}
inline double potential(Link link, double v) {
    return with_link(link, [v](auto l) { return l.potential(v); });
}
inline double max_slope(Link link) {
    return with_link(link, [](auto l) { return l.max_slope; });
}

}  // namespace duelist
