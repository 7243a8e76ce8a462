// Duels that are out with somebody, and which pairs of a table they are.
#pragma once

#include <numeric>
#include <set>

#include "policies/selection_rule.hpp"

namespace duelist {

// A duel that is out with somebody, as a log remembers it.
struct PendingDuel {
    const double* difference;
    i64 layer;
    double share;
};

// So many pairs are left out at most. More have the differences of a few duels only where thousands of arms are alike, on a few levels, and then they
// would be listed and sorted for every decision.
inline constexpr i64 MAX_EXCLUDED = i64{1} << 20;

// Finds the pairs that have a difference. Arms stand in the order of one number each, a sum of their features with uneven weights, so that of
// K arms few pairs have to be looked at: two places walk along the order, O(K) for each difference.
class DifferenceIndex {
public:
    explicit DifferenceIndex(const ArmTable& table) : table_(table), order_(static_cast<std::size_t>(table.n)) {
        std::iota(order_.begin(), order_.end(), 0);
        for (i64 a = 0; a < table.n; a++) numbers_.push_back(number_of(table.arm(a), magnitude_));
        std::sort(order_.begin(), order_.end(), [this](i64 a, i64 b) { return number(a) < number(b); });
    }

    // Adds every pair of different arms with this difference, in either order, up to no rounding at all; false: there are more than `left`.
    bool add_to(PairSet& found, const double* z, i64& left) const {
        double size = magnitude_, gap = std::fabs(number_of(z, size)), tolerance = ROUNDING * size;
        for (std::size_t low = 0, high = 0; high < order_.size(); high++) {
            while (number(order_[high]) - number(order_[low]) > gap + tolerance) low++;
            for (std::size_t k = low; k < high && number(order_[high]) - number(order_[k]) >= gap - tolerance; k++)
                if (have_difference(order_[high], order_[k], z)) {
                    if (left-- == 0) return false;
                    found.add(order_[high], order_[k]);
                }
        }
        return true;
    }

private:
    static constexpr double ROUNDING = 0x1p-40;

    const ArmTable& table_;
    std::vector<i64> order_;
    std::vector<double> numbers_;
    double magnitude_ = 0.0;  // what numbers are rounded in parts of

    double number(i64 arm) const { return numbers_[static_cast<std::size_t>(arm)]; }

    double number_of(const double* x, double& size) const {
        double sum = 0.0, magnitudes = 0.0;
        for (i64 k = 0; k < table_.dim; k++) {
            double part = (1.0 + 1.0 / static_cast<double>(k + 3)) * x[k];
            sum += part;
            magnitudes += std::fabs(part);
        }
        size = std::max(size, magnitudes);
        return sum;
    }

    bool have_difference(i64 i, i64 j, const double* z) const {
        const double *x = table_.arm(i), *y = table_.arm(j);
        bool same = true, opposite = true;
        for (i64 k = 0; k < table_.dim && (same || opposite); k++) {
            double gap = x[k] - y[k];
            same &= gap == z[k];
            opposite &= gap == -z[k];
        }
        return same || opposite;
    }
};

// The same for a difference and its opposite.
inline std::vector<double> unsigned_difference(const double* z, i64 dim) {
    std::vector<double> found(z, z + dim);
    auto first = std::find_if(found.begin(), found.end(), [](double d) { return d != 0.0; });
    double sign = first != found.end() && *first < 0.0 ? -1.0 : 1.0;
    for (double& d : found) d = sign * d + 0.0;  // never -0.0
    return found;
}

// What duels that are out are about, each difference once.
using DifferenceSet = std::set<std::vector<double>>;

inline DifferenceSet differences_of(const std::vector<PendingDuel>& out, i64 dim) {
    DifferenceSet found;
    for (const PendingDuel& duel : out) found.insert(unsigned_difference(duel.difference, dim));
    return found;
}

// Pairs of a table that may not be asked, and those that are out with somebody, unless these are too many.
inline PairSet excluded_pairs(const ArmTable& table, const DifferenceSet& out) {
    const PairSet excluded = table.excluded ? *table.excluded : PairSet();
    if (out.empty()) return excluded;
    DifferenceIndex pairs(table);
    PairSet taken = excluded;
    i64 left = MAX_EXCLUDED;
    for (const std::vector<double>& z : out)
        if (!pairs.add_to(taken, z.data(), left)) return excluded;
    taken.seal();
    return taken;
}

// The duel of a table without the pairs that are out, while there are others.
inline Decision decide_excluding(const DifferenceSet& out, const SelectionRule& rule, PolicyState& state,
                                 Workspace& workspace, const ArmTable& table) {
    if (out.empty()) return rule.decide(state, workspace, table);
    PairSet taken = excluded_pairs(table, out);
    ArmTable others{table.features, table.n, table.dim, table.distinct, &taken};
    return rule.decide(state, workspace, taken.size() && others.n_allowed_pairs() > 0 ? others : table);
}

}  // namespace duelist
