// Pending duels, and the pairs of a round that they occupy.
#pragma once

#include <numeric>
#include <set>

#include "policies/selection_rule.hpp"

namespace duelist {

// A pending duel, as the log of a study stores it.
struct PendingDuel {
    const double* difference;
    i64 layer;
    double share;
};

// Exclude at most this number of pairs. A few differences belong to more pairs only if thousands of arms lie on a grid,
// and listing these would slow down every decision.
inline constexpr i64 MAX_EXCLUDED = i64{1} << 20;

// Finds the pairs with a given difference. Arms are sorted by a weighted sum of their features, so that only few of the
// K(K-1)/2 pairs have to be checked: two indices move along the order, O(K) for each difference.
class DifferenceIndex {
public:
    explicit DifferenceIndex(const ArmTable& table) : table_(table), order_(static_cast<std::size_t>(table.n)) {
        std::iota(order_.begin(), order_.end(), 0);
        for (i64 a = 0; a < table.n; a++) projections_.push_back(projection_of(table.arm(a), magnitude_));
        std::sort(order_.begin(), order_.end(), [this](i64 a, i64 b) { return projection(a) < projection(b); });
    }

    // Add every pair of different arms with exactly this difference, in either order. Return false if there are more
    // than `left`.
    bool add_to(PairSet& found, const double* z, i64& left) const {
        double size = magnitude_, gap = std::fabs(projection_of(z, size)), tolerance = ROUNDING * size;
        for (std::size_t low = 0, high = 0; high < order_.size(); high++) {
            while (projection(order_[high]) - projection(order_[low]) > gap + tolerance) low++;
            for (std::size_t k = low; k < high && projection(order_[high]) - projection(order_[k]) >= gap - tolerance;
                 k++)
                if (has_difference(order_[high], order_[k], z)) {
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
    std::vector<double> projections_;
    double magnitude_ = 0.0;  // the largest sum of magnitudes, which bounds the rounding error of a sum

    double projection(i64 arm) const { return projections_[static_cast<std::size_t>(arm)]; }

    double projection_of(const double* x, double& size) const {
        double sum = 0.0, magnitudes = 0.0;
        for (i64 k = 0; k < table_.dim; k++) {
            double part = (1.0 + 1.0 / static_cast<double>(k + 3)) * x[k];
            sum += part;
            magnitudes += std::fabs(part);
        }
        size = std::max(size, magnitudes);
        return sum;
    }

    bool has_difference(i64 i, i64 j, const double* z) const {
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

// A canonical form, equal for a difference and its negation.
inline std::vector<double> unsigned_difference(const double* z, i64 dim) {
    std::vector<double> found(z, z + dim);
    auto first = std::find_if(found.begin(), found.end(), [](double d) { return d != 0.0; });
    double sign = first != found.end() && *first < 0.0 ? -1.0 : 1.0;
    for (double& d : found) d = sign * d + 0.0;  // + 0.0 turns -0.0 into 0.0
    return found;
}

// The differences of pending duels, without duplicates.
using DifferenceSet = std::set<std::vector<double>>;

inline DifferenceSet differences_of(const std::vector<PendingDuel>& pending, i64 dim) {
    DifferenceSet found;
    for (const PendingDuel& duel : pending) found.insert(unsigned_difference(duel.difference, dim));
    return found;
}

// The excluded pairs of a round plus the pending ones, unless these are too many.
inline PairSet excluded_pairs(const ArmTable& table, const DifferenceSet& pending) {
    const PairSet excluded = table.excluded ? *table.excluded : PairSet();
    if (pending.empty()) return excluded;
    DifferenceIndex pairs(table);
    PairSet blocked = excluded;
    i64 left = MAX_EXCLUDED;
    for (const std::vector<double>& z : pending)
        if (!pairs.add_to(blocked, z.data(), left)) return excluded;
    blocked.seal();
    return blocked;
}

// Decide a duel, excluding pending pairs while there are others.
inline Decision decide_excluding(const DifferenceSet& pending, const SelectionRule& rule, PolicyState& state,
                                 Workspace& workspace, const ArmTable& table) {
    if (pending.empty()) return rule.decide(state, workspace, table);
    PairSet blocked = excluded_pairs(table, pending);
    ArmTable others{table.features, table.n, table.dim, table.distinct, &blocked};
    return rule.decide(state, workspace, blocked.size() && others.n_allowed_pairs() > 0 ? others : table);
}

}  // namespace duelist
