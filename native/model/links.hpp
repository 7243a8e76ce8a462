// Links: mu(v) is the probability that the first arm wins if utilities differ by v; mu(v) + mu(-v) = 1.
//
// A link is a type with a name, mu, its slope mu', the potential M with M' = mu, the largest slope, and a bound on |d
// log mu' / dv| near v, which says how far a Newton step can be trusted. To add a link, write its type and list it in
// `with_link`.
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
    static double log_slope_bound(double, double) { return 1.0; }
};

// mu(v) = Phi(v): Thurstone-Mosteller.
struct Probit {
    static constexpr Link code = Link::probit;
    static constexpr const char* name = "probit";
    static constexpr double max_slope = 0.39894228040143267794;  // 1 / sqrt(2 pi)
    static double mean(double v) { return 0.5 * erfc(-v * 0.70710678118654752440); }
    static double slope(double v) { return max_slope * exp_neg_abs(0.5 * v * v); }
    static double potential(double v) { return v * mean(v) + slope(v); }
    static double log_slope_bound(double v, double move) { return std::fabs(v) + move; }
};

// mu(v) = e^v / 2 for v < 0 and 1 - e^-v / 2 above: the difference of exponential noise terms.
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
    static double log_slope_bound(double, double) { return 1.0; }
};

// Call `action` with an object of the link's type.
template <class Action>
decltype(auto) with_link(Link link, Action&& action) {
    switch (link) {
        case Link::logistic: return action(Logistic{});
        case Link::probit: return action(Probit{});
        case Link::exponential: return action(Exponential{});
    }
    throw std::logic_error("There is no link with the number " + std::to_string(static_cast<int>(link)) + ".");
}

inline Link link_from_name(const std::string& name) {
    for (Link link : {Link::logistic, Link::probit, Link::exponential})
        if (with_link(link, [&](auto l) { return name == l.name; })) return link;
    throw std::invalid_argument("There is no link '" + name + "'. Choose logistic, probit or exponential.");
}

inline double mean(Link link, double v) {
    return with_link(link, [v](auto l) { return l.mean(v); });
}
inline double slope(Link link, double v) {
    return with_link(link, [v](auto l) { return l.slope(v); });
}
// A gap of utilities, shrunk if its standard deviation exceeds 8, as for a new arm with a feature far larger than any
// before. Taken at face value, such a gap would make the outcome look certain, and the arm would never be compared.
inline double shrunk_gap(double gap, double square) {
    constexpr double MOST = 64.0;
    return square > MOST ? gap * std::sqrt(MOST / square) : gap;
}
inline double potential(Link link, double v) {
    return with_link(link, [v](auto l) { return l.potential(v); });
}
// The smallest ratio of mu' to mu (1 - mu): e^(temperature (o (v - v*) - M(v) + M(v*))) has a mean of at most 1 where the
// outcome o has the mean mu(v*) (docs/algorithms/tight-radius.md). Probit has it at 0, 4 / sqrt(2 pi); the exponential link in its tails.
inline double likelihood_temperature(Link link) { return link == Link::probit ? 4.0 * Probit::max_slope : 1.0; }
inline double max_slope(Link link) {
    return with_link(link, [](auto l) { return l.max_slope; });
}

}  // namespace duelist
