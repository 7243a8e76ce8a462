// How large each feature is, which the ridge and the prior precision are multiples of.
//
// One number for all features would shrink away those that come in small numbers and credit their effect to others, so
// each has its own: the variance of the first arms in it. First arms may not be typical, and later ones may be of
// another kind, so what is learned is watched: d^2 / 2 of the differences d in a feature is, on average, the variance of the arms they
// come from. Outcomes are looked at in stretches, each twice as long as the one before. After a stretch, a feature is given its mean of
// d^2 / 2 there if that is FACTOR times its size or more, or if even the largest is less than 1 / FACTOR of it. (Not if the mean
// is: a policy that knows a feature's effect stops asking about it, and rare features differ rarely.) A feature in which the first
// arms do not differ has no size: until the first outcome, the arms of later rounds give it one, and after it the first duel that
// differs in it.
#pragma once

#include "memory.hpp"

namespace duelist {

struct Sizes {
    static constexpr double FACTOR = 8.0;
    static constexpr double FIRST_STRETCH = 4.0;

    bool follow = false;          // whether they follow what is learned
    Numbers squared;              // in force
    Numbers sum, largest;         // of d^2 / 2 in the present stretch, each outcome with its weight
    std::vector<char> unknown;    // whether no two arms have differed in a feature yet
    double counted = 0.0, length = FIRST_STRETCH;

    explicit Sizes(i64 dim) : squared(dim), sum(dim), largest(dim), unknown(static_cast<std::size_t>(dim), 0) {
        for (i64 k = 0; k < dim; k++) squared[k] = 1.0;
    }

    // One more outcome; whether sizes should change, and then to what. A weight of 2 is the same outcome twice, so that one outcome
    // may end a stretch and begin the next.
    bool notice(const double* z, i64 dim, double weight, Numbers& wanted) {
        if (!follow) return false;
        bool fresh = is_new(z, dim);
        if (!fresh && counted + weight < length) {
            count(z, dim, weight);
            return false;
        }
        wanted = squared;
        if (fresh) name_new(z, dim, wanted);
        bool changed = fresh;
        while (counted + weight >= length) {
            double part = length - counted;
            count(z, dim, part);
            weight -= part;
            changed |= end_stretch(dim, wanted);
        }
        if (weight > 0.0) count(z, dim, weight);
        return changed;
    }

    // Sizes from the arms of a round, for features that have none; whether any got one, and then what all are.
    bool meet(const double* arms, i64 n, i64 dim, Numbers& wanted) {
        bool met = false;
        for (i64 k = 0; k < dim; k++) {
            char& is_unknown = unknown[static_cast<std::size_t>(k)];
            double variance = is_unknown ? variance_of(arms + k, n, dim) : 0.0;
            if (!usable(variance)) continue;
            if (!met) wanted = squared;
            met = true;
            wanted[k] = variance;
            is_unknown = 0;
        }
        return met;
    }

    bool any_unknown() const { return follow && std::find(unknown.begin(), unknown.end(), 1) != unknown.end(); }

    // The variance of n numbers, `stride` apart; exactly zero where they are all the same, or differ by rounding alone.
    static double variance_of(const double* x, i64 n, i64 stride) {
        double mean = 0.0, total = 0.0, largest = 0.0;
        for (i64 a = 0; a < n; a++) {
            mean += (x[a * stride] - x[0]) / static_cast<double>(n);
            largest = std::max(largest, std::fabs(x[a * stride]));
        }
        for (i64 a = 0; a < n; a++) {
            double gap = (x[a * stride] - x[0]) - mean;
            total += gap * gap;
        }
        double variance = total / static_cast<double>(n), rounding = ROUNDING * largest;
        return variance > rounding * rounding ? variance : 0.0;
    }

private:
    static constexpr double ROUNDING = 64.0 * std::numeric_limits<double>::epsilon();

    static bool usable(double half) { return half > std::numeric_limits<double>::min() && half < 1e300; }

    bool is_new(const double* z, i64 dim) const {
        for (i64 k = 0; k < dim; k++)
            if (unknown[static_cast<std::size_t>(k)] && usable(0.5 * z[k] * z[k])) return true;
        return false;
    }

    void count(const double* z, i64 dim, double weight) {
        for (i64 k = 0; k < dim; k++) {
            double half = 0.5 * z[k] * z[k];
            sum[k] += weight * half;
            largest[k] = std::max(largest[k], half);
        }
        counted += weight;
    }

    void name_new(const double* z, i64 dim, Numbers& wanted) {
        for (i64 k = 0; k < dim; k++) {
            char& is_unknown = unknown[static_cast<std::size_t>(k)];
            double half = 0.5 * z[k] * z[k];
            if (!is_unknown || !usable(half)) continue;
            wanted[k] = half;
            is_unknown = 0;
        }
    }

    bool end_stretch(i64 dim, Numbers& wanted) {
        bool changed = false;
        for (i64 k = 0; k < dim; k++) {
            double mean = sum[k] / counted;
            bool grown = mean >= FACTOR * wanted[k], shrunk = FACTOR * largest[k] < wanted[k];
            if (usable(mean) && (grown || shrunk)) {
                wanted[k] = mean;
                changed = true;
            }
            sum[k] = largest[k] = 0.0;
        }
        counted = 0.0;
        length *= 2.0;
        return changed;
    }
};

}  // namespace duelist
