// DesignPair: the next comparison of a sequential optimal design (Shen et al. 2025; Liu et al. 2026).
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class DesignPair : public SelectionRule {
public:
    explicit DesignPair(const Hyperparameters& s) : average_(s.flag("average")) {}

    bool local() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        if (workspace.cache.hit(table, 0.0)) return workspace.cache.last;
        if (table.n == 1) return workspace.cache.store({0, 0, 0, 1.0});
        ArmView view = whiten_all(state, workspace, table, true);
        const double* transformed = average_ ? transform(view, workspace.near.data()) : nullptr;
        FoundPair pair = with_link(
            state.link, [&](auto link) { return best(link, view, transformed, table.constraints(), workspace); });
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }

    bool supports_arm_effects() const override { return true; }

    // As above, among the pairs of the 64 arms of largest variance. If these are all excluded, the D-optimal pair of
    // the best arm that has a partner.
    Decision decide_with_effects(const ArmEffectsState& known, Sfc64&, i64, const ArmTable& table) const override {
        if (table.n == 1) return {0, 0, 0, 1.0};
        ArmEffectsView view(known, table);
        PairConstraints different = table.constraints();
        different.distinct = true;
        FoundPair pair = with_link(known.link, [&](auto link) {
            FoundPair found = best_of_uncertain(link, view, different);
            return found.first < 0 ? best_of_leader(link, view, different) : found;
        });
        return {pair.first, pair.second, 0, 1.0};
    }

private:
    static constexpr i64 MOST_UNCERTAIN = 64;
    bool average_;  // A-optimal: the variances of the arms in the round; otherwise D-optimal: the determinant of H

    // G v_a of every arm, with G = sum_a (v_a - mean)(v_a - mean)'.
    static const double* transform(const ArmView& view, double* buffer) {
        i64 n = view.n, dim = view.dim, stride = view.stride;
        for (i64 k = 0; k < dim; k++) {
            const double* row = view.v + k * stride;
            double mean = 0.0;
            for (i64 a = 0; a < n; a++) mean += row[a];
            mean /= static_cast<double>(n);
            for (i64 a = 0; a < n; a++) buffer[k * stride + a] = row[a] - mean;
        }
        AlignedDoubles covariance(dim * dim);
        for (i64 k = 0; k < dim; k++)
            for (i64 l = k; l < dim; l++) {
                covariance[k * dim + l] = kernels->dot(buffer + k * stride, buffer + l * stride, n);
                covariance[l * dim + k] = covariance[k * dim + l];
            }
        for (i64 k = 0; k < dim; k++) {
            double* out = buffer + k * stride;
            for (i64 a = 0; a < n; a++) out[a] = 0.0;
            for (i64 l = 0; l < dim; l++)
                for (i64 a = 0; a < n; a++) out[a] += covariance[k * dim + l] * view.v[l * stride + a];
        }
        return buffer;
    }

    // Set out[j - i - 1] = z'Gz for the pairs of arm i with the arms j after it.
    static void shared_variances(const ArmView& view, const double* transformed, i64 i, double* out) {
        for (i64 j = i + 1; j < view.n; j++) out[j - i - 1] = 0.0;
        for (i64 k = 0; k < view.dim; k++) {
            const double *row = view.v + k * view.stride, *other = transformed + k * view.stride;
            for (i64 j = i + 1; j < view.n; j++) out[j - i - 1] += (row[i] - row[j]) * (other[i] - other[j]);
        }
    }

    // By how much another outcome reduces the sum of variances (if `shared` is given), or a monotone function of the
    // growth of det H.
    static double value_of(double slope, double square, const double* shared, i64 at) {
        return shared ? slope * shared[at] / (1.0 + slope * square) : slope * square;
    }

    template <class L>
    FoundPair best_of_uncertain(L link, ArmEffectsView& view, const PairConstraints& constraints) const {
        i64 n = view.n(), stride = padded(n);
        std::vector<i64> listed = ArmEffectsView::largest(view.variance(), n, MOST_UNCERTAIN);
        i64 count = static_cast<i64>(listed.size());
        AlignedDoubles covariances(count * stride);
        auto row = [&](i64 a) { return covariances.data() + a * stride; };
        for (i64 a = 0; a < count; a++) view.covariances(listed[a], ArmSubset::all(n), row(a));
        FoundPair found = NO_PAIR;
        AlignedDoubles squares(padded(count));
        for (i64 a = 0; a + 1 < count; a++) {
            view.squared_widths(listed[a], ArmSubset::after(listed, a), squares.data());
            for (i64 b = a + 1; b < count; b++) {
                i64 i = listed[a], j = listed[b];
                if (!constraints.allows(i, j)) continue;
                double square = squares[b - a - 1];
                double shared = average_ ? summed_squared_covariance(row(a), row(b), n) : 0.0;
                double value = value_of(link.slope(view.u()[i] - view.u()[j]), square, average_ ? &shared : nullptr, 0);
                if (found.first < 0 || value > found.value) found = {i, j, value};
            }
        }
        return found;
    }

    // The sum over all arms of the squared covariance of a difference with an arm's utility, relative to the mean
    // utility.
    static double summed_squared_covariance(const double* one, const double* other, i64 n) {
        double mean = 0.0, total = 0.0;
        for (i64 a = 0; a < n; a++) mean += one[a] - other[a];
        mean /= static_cast<double>(n);
        for (i64 a = 0; a < n; a++) total += (one[a] - other[a] - mean) * (one[a] - other[a] - mean);
        return total;
    }

    template <class L>
    static FoundPair best_of_leader(L link, ArmEffectsView& view, const PairConstraints& constraints) {
        FoundPair found = NO_PAIR;
        i64 leader = view.leader(constraints);
        if (leader < 0) return found;
        AlignedDoubles squares(padded(view.n()));
        view.squared_widths(leader, ArmSubset::all(view.n()), squares.data());
        for (i64 j = 0; j < view.n(); j++) {
            if (j == leader || !constraints.allows(leader, j)) continue;
            double value = value_of(link.slope(view.u()[leader] - view.u()[j]), squares[j], nullptr, 0);
            if (found.first < 0 || value > found.value) found = {std::min(leader, j), std::max(leader, j), value};
        }
        return found;
    }

    // argmax over allowed i < j; ties go to the first.
    template <class L>
    static FoundPair best(L link, const ArmView& view, const double* transformed, const PairConstraints& constraints,
                          Workspace& workspace) {
        FoundPair found = NO_PAIR;
        double *squares = workspace.line.data(), *shared = transformed ? workspace.near_u.data() : nullptr;
        for (i64 i = 0; i + 1 < view.n; i++) {
            kernels->squared_widths(view.v, view.stride, view.dim, i, i + 1, view.n, squares);
            if (transformed) shared_variances(view, transformed, i, shared);
            for (i64 j = i + 1; j < view.n; j++) {
                i64 at = j - i - 1;
                // The value increases with the slope, so most pairs need no exponential.
                if (found.first >= 0 && value_of(link.max_slope, squares[at], shared, at) < found.value) continue;
                double value = value_of(link.slope(view.u[i] - view.u[j]), squares[at], shared, at);
                if ((found.first < 0 || value > found.value) && constraints.allows(i, j)) found = {i, j, value};
            }
        }
        return found;
    }
};

}  // namespace duelist
