// DesignPair: the comparison that optimal design asks for next, given all that were asked (Shen et al. 2025; Liu et al. 2026).
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class DesignPair : public SelectionRule {
public:
    explicit DesignPair(const Hyperparameters& s) : average_(s.flag("average")) {}

    bool local() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        if (workspace.cache.recall(table, 0.0)) return workspace.cache.last;
        if (table.n == 1) return workspace.cache.remember({0, 0, 0, 1.0});
        ArmView view = whiten_all(state, workspace, table, true);
        const double* turned = average_ ? turn(view, workspace.near.data()) : nullptr;
        FoundPair pair =
            with_link(state.link, [&](auto link) { return best(link, view, turned, table.constraints(), workspace); });
        return workspace.cache.remember({pair.first, pair.second, 0, 1.0});
    }

    bool supports_arm_effects() const override { return true; }

    // As above among the pairs of the 64 arms that least is known about; up to 64 arms: among all pairs. Where none of these may be asked,
    // the pair of the best arm that has a partner left of which D-optimal design makes most.
    Decision decide_with_effects(const ArmEffectsState& known, Sfc64&, i64, const ArmTable& table) const override {
        if (table.n == 1) return {0, 0, 0, 1.0};
        ArmEffectsView view(known, table);
        PairConstraints different = table.constraints();
        different.distinct = true;
        FoundPair pair = with_link(known.link, [&](auto link) {
            FoundPair found = best_of_unknown(link, view, different);
            return found.first < 0 ? best_of_leader(link, view, different) : found;
        });
        return {pair.first, pair.second, 0, 1.0};
    }

private:
    static constexpr i64 UNKNOWN = 64;
    bool average_;  // A-optimal: the variances of the arms on the table; otherwise D-optimal: the determinant of H

    // G v_a of every arm, with G = sum_a (v_a - mean)(v_a - mean)'.
    static const double* turn(const ArmView& view, double* buffer) {
        i64 n = view.n, dim = view.dim, stride = view.stride;
        for (i64 k = 0; k < dim; k++) {
            const double* row = view.v + k * stride;
            double mean = 0.0;
            for (i64 a = 0; a < n; a++) mean += row[a];
            mean /= static_cast<double>(n);
            for (i64 a = 0; a < n; a++) buffer[k * stride + a] = row[a] - mean;
        }
        AlignedDoubles spread(dim * dim);
        for (i64 k = 0; k < dim; k++)
            for (i64 l = k; l < dim; l++) {
                spread[k * dim + l] = kernels->dot(buffer + k * stride, buffer + l * stride, n);
                spread[l * dim + k] = spread[k * dim + l];
            }
        for (i64 k = 0; k < dim; k++) {
            double* out = buffer + k * stride;
            for (i64 a = 0; a < n; a++) out[a] = 0.0;
            for (i64 l = 0; l < dim; l++)
                for (i64 a = 0; a < n; a++) out[a] += spread[k * dim + l] * view.v[l * stride + a];
        }
        return buffer;
    }

    // z'Gz of the pairs of arm i with the arms after it.
    static void shared_variances(const ArmView& view, const double* turned, i64 i, double* out) {
        for (i64 j = i + 1; j < view.n; j++) out[j - i - 1] = 0.0;
        for (i64 k = 0; k < view.dim; k++) {
            const double *row = view.v + k * view.stride, *other = turned + k * view.stride;
            for (i64 j = i + 1; j < view.n; j++) out[j - i - 1] += (row[i] - row[j]) * (other[i] - other[j]);
        }
    }

    // By how much one more outcome lowers the sum of variances (`shared` given), or raises det H, up to what grows with it.
    static double worth(double slope, double square, const double* shared, i64 at) {
        return shared ? slope * shared[at] / (1.0 + slope * square) : slope * square;
    }

    template <class L>
    FoundPair best_of_unknown(L, ArmEffectsView& view, const PairConstraints& constraints) const {
        i64 n = view.n(), stride = padded(n);
        std::vector<i64> listed = ArmEffectsView::largest(view.variance(), n, UNKNOWN);
        i64 count = static_cast<i64>(listed.size());
        AlignedDoubles covariances(count * stride);
        auto row = [&](i64 a) { return covariances.data() + a * stride; };
        for (i64 a = 0; a < count; a++) view.covariances(listed[a], nullptr, n, row(a));
        FoundPair found = NO_PAIR;
        AlignedDoubles squares(padded(count));
        for (i64 a = 0; a + 1 < count; a++) {
            view.squares(listed[a], listed.data() + a + 1, count - a - 1, squares.data());
            for (i64 b = a + 1; b < count; b++) {
                i64 i = listed[a], j = listed[b];
                if (!constraints.allows(i, j)) continue;
                double square = squares[b - a - 1];
                double shared = average_ ? spread_of_difference(row(a), row(b), n) : 0.0;
                double value = worth(L::slope(view.u()[i] - view.u()[j]), square, average_ ? &shared : nullptr, 0);
                if (found.first < 0 || value > found.value) found = {i, j, value};
            }
        }
        return found;
    }

    // The sum over all arms of the squared covariance of a difference with an arm's utility, relative to the mean utility.
    static double spread_of_difference(const double* one, const double* other, i64 n) {
        double mean = 0.0, total = 0.0;
        for (i64 a = 0; a < n; a++) mean += one[a] - other[a];
        mean /= static_cast<double>(n);
        for (i64 a = 0; a < n; a++) total += (one[a] - other[a] - mean) * (one[a] - other[a] - mean);
        return total;
    }

    template <class L>
    static FoundPair best_of_leader(L, ArmEffectsView& view, const PairConstraints& constraints) {
        FoundPair found = NO_PAIR;
        i64 leader = view.leader(constraints);
        if (leader < 0) return found;
        AlignedDoubles squares(padded(view.n()));
        view.squares(leader, nullptr, view.n(), squares.data());
        for (i64 j = 0; j < view.n(); j++) {
            if (j == leader || !constraints.allows(leader, j)) continue;
            double value = worth(L::slope(view.u()[leader] - view.u()[j]), squares[j], nullptr, 0);
            if (found.first < 0 || value > found.value) found = {std::min(leader, j), std::max(leader, j), value};
        }
        return found;
    }

    // argmax over allowed i < j; equal ones: the first.
    template <class L>
    static FoundPair best(L, const ArmView& view, const double* turned, const PairConstraints& constraints,
                          Workspace& workspace) {
        FoundPair found = NO_PAIR;
        double *squares = workspace.line.data(), *shared = turned ? workspace.near_u.data() : nullptr;
        for (i64 i = 0; i + 1 < view.n; i++) {
            kernels->squared_widths(view.v, view.stride, view.dim, i, i + 1, view.n, squares);
            if (turned) shared_variances(view, turned, i, shared);
            for (i64 j = i + 1; j < view.n; j++) {
                i64 at = j - i - 1;
                // What a pair is worth grows with the slope; most pairs need no exponential.
                if (found.first >= 0 && worth(L::max_slope, squares[at], shared, at) < found.value) continue;
                double value = worth(L::slope(view.u[i] - view.u[j]), squares[at], shared, at);
                if ((found.first < 0 || value > found.value) && constraints.allows(i, j)) found = {i, j, value};
            }
        }
        return found;
    }
};

}  // namespace duelist
