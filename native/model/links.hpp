// Links: mu(v) is the probability that the first arm wins if utilities differ by v; mu(v) + mu(-v) = 1.
//
// A link is a type with mu, its slope mu', the potential M with M' = mu, the largest slope, and a bound on |d log mu' /
// dv| near v, which says how far a Newton step can be trusted. To add a link, write its type and list it in `with_link`
// and `link_from_name`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "numerics/elementary.hpp"

namespace duelist {

// A kind, and for the logistic link Davidson's parameter nu: 0 without ties.
struct Link {
    enum class Kind : int { logistic, probit, exponential };

    static const Link logistic, probit, exponential;

    Kind kind;
    double nu = 0.0;

    friend bool operator==(const Link&, const Link&) = default;
};

inline constexpr Link Link::logistic{Link::Kind::logistic};
inline constexpr Link Link::probit{Link::Kind::probit};
inline constexpr Link Link::exponential{Link::Kind::exponential};

// mu(v) = 1/(1 + e^-v): Bradley-Terry-Luce.
struct Logistic {
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
    static constexpr double max_slope = 0.39894228040143267794;  // 1 / sqrt(2 pi)
    static double mean(double v) { return 0.5 * erfc(-v * 0.70710678118654752440); }
    static double slope(double v) { return max_slope * exp_neg_abs(0.5 * v * v); }
    static double potential(double v) { return v * mean(v) + slope(v); }
    static double log_slope_bound(double v, double move) { return std::fabs(v) + move; }
};

// mu(v) = e^v / 2 for v < 0 and 1 - e^-v / 2 above: the difference of exponential noise terms.
struct Exponential {
    static constexpr double max_slope = 0.5;
    static double mean(double v) {
        double half = 0.5 * exp_neg_abs(v);
        return v >= 0.0 ? 1.0 - half : half;
    }
    static double slope(double v) { return 0.5 * exp_neg_abs(v); }
    static double potential(double v) { return std::max(v, 0.0) + 0.5 * exp_neg_abs(v); }
    static double log_slope_bound(double, double) { return 1.0; }
};

// Votes with ties (Davidson 1970): the first arm wins, ties, or loses with probability proportional to e^(v/2), nu and
// e^(-v/2). mu(v) = P(first wins) + P(tie) / 2, and M(v) - o v is the negative log-likelihood of an outcome o, 1/2 for a
// tie, up to a constant. The largest slope is at 0 for nu <= 4, so nu is at most that: two ties in three votes on equals.
struct Davidson {
    static constexpr double LARGEST_NU = 4.0;
    double nu, max_slope;
    explicit Davidson(double nu) : nu(nu), max_slope(0.5 / (2.0 + nu)) {}
    double mean(double v) const {
        if (v == 0.0) return 0.5;  // rounding must not favour an arm
        double e = exp_neg_abs(0.5 * v), half_tie = 0.5 * nu * e, whole = 1.0 + e * (e + nu);
        return (v >= 0.0 ? 1.0 + half_tie : e * e + half_tie) / whole;
    }
    double slope(double v) const {
        double e = exp_neg_abs(0.5 * v), square = e * e, whole = 1.0 + e * (e + nu);
        return (square + 0.25 * nu * e * (1.0 + square)) / (whole * whole);
    }
    double potential(double v) const {
        double e = exp_neg_abs(0.5 * v);
        return std::max(v, 0.0) + log1p(e * (e + nu));
    }
    double log_slope_bound(double, double) const { return 1.0; }
};

// Call `action` with an object of the link's type.
template <class Action>
decltype(auto) with_link(Link link, Action&& action) {
    switch (link.kind) {
        case Link::Kind::logistic: return link.nu > 0.0 ? action(Davidson(link.nu)) : action(Logistic{});
        case Link::Kind::probit: return action(Probit{});
        case Link::Kind::exponential: return action(Exponential{});
    }
    throw std::logic_error("There is no link with the number " + std::to_string(static_cast<int>(link.kind)) + ".");
}

inline std::string name_of(Link link) {
    if (link == Link::probit) return "probit";
    if (link == Link::exponential) return "exponential";
    if (link.nu == 0.0) return "logistic";
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "davidson(%.17g)", link.nu);
    return text.data();
}

inline Link link_from_name(const std::string& name) {
    for (Link link : {Link::logistic, Link::probit, Link::exponential})
        if (name == name_of(link)) return link;
    double nu = 0.0;
    int end = 0;
    if (std::sscanf(name.c_str(), "davidson(%lf)%n", &nu, &end) == 1 && end == static_cast<int>(name.size()) &&
        nu > 0.0 && nu <= Davidson::LARGEST_NU)
        return {Link::Kind::logistic, nu};
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
