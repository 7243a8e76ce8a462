// MaxMinLCB (Pasztor, Kassraie, Krause 2024): the leader with the best worst case, and the follower that attains it.
#pragma once

#include "policies/radius_settings.hpp"

namespace duelist {

class MaxMinLCB : public RadiusRule {
public:
    using RadiusRule::RadiusRule;

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        double beta = radius_.flat(state, workspace);
        if (workspace.cache.hit(table, beta)) return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table);
        FoundPair pair = with_link(state.link, [&](auto link) {
            WinBounds<decltype(link)> bounds{link, view, beta, workspace.line.data()};
            return choose(bounds, table.constraints(), workspace.remaining.data());
        });
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }

private:
    // Bounds on the probability that arm i beats arm j: mu(u_i - u_j) -+ L_mu beta |v_i - v_j|.
    template <class L>
    struct WinBounds {
        L link;
        const ArmView& view;
        double beta;
        double* squares;  // of the pairs of one arm with all others

        void compute_widths(i64 arm) {
            kernels->squared_widths(view.v, view.stride, view.dim, arm, 0, view.n, squares);
        }

        // Whether even the upper bound on the win probability of arm i against arm j is below 1/2.
        //
        // mu(v) >= 1/2 + L_mu v for v < 0, so most pairs need no exponential.
        bool loses(i64 i, i64 j, double square) const {
            double gap = view.u[i] - view.u[j], reach = beta * std::sqrt(square);
            return gap + reach < 0.0 && link.mean(gap) + link.max_slope * reach < 0.5;
        }

        // List the arms that lose to none. The best arm beats most others, so it is compared first.
        i64 plausible(i64* out) {
            i64 count = 0, candidates = 0, top = kernels->argmax(view.u, view.n);
            compute_widths(top);
            for (i64 i = 0; i < view.n; i++)
                if (!loses(i, top, squares[i])) out[candidates++] = i;
            for (i64 a = 0; a < candidates; a++) {
                i64 i = out[a], j = 0;
                compute_widths(i);
                while (j < view.n && !loses(i, j, squares[j])) j++;
                if (j == view.n) out[count++] = i;
            }
            return count;
        }

        // The worst partner j of the arm of the last `compute_widths`, with its lower bound as value; ties go to the
        // arm itself, then the first. The search stops once the bound is at most `enough`.
        FoundPair worst_partner(i64 arm, const ArmSubset& partners, const PairConstraints& constraints,
                                double enough) const {
            FoundPair found = constraints.allows(arm, arm) && lists(partners, arm) ? FoundPair{arm, arm, 0.5} : NO_PAIR;
            for (i64 b = 0; b < partners.n && !(found.first >= 0 && found.value <= enough); b++) {
                i64 j = partners.arm(b);
                if (j == arm || !constraints.allows(arm, j)) continue;
                double gap = view.u[arm] - view.u[j], reach = link.max_slope * beta * std::sqrt(squares[j]);
                double at_least = 0.5 + link.max_slope * std::min(gap, 0.0) - reach;
                if (found.first >= 0 && at_least > found.value) continue;
                double lower = link.mean(gap) - reach;
                if (found.first < 0 || lower < found.value) found = {arm, j, lower};
            }
            return found;
        }

        static bool lists(const ArmSubset& arms, i64 arm) {
            return !arms.positions || std::binary_search(arms.positions, arms.positions + arms.n, arm);
        }
    };

    template <class L>
    static FoundPair choose(WinBounds<L>& bounds, const PairConstraints& constraints, i64* plausible) {
        ArmSubset maximizers{plausible, bounds.plausible(plausible)}, all_arms = ArmSubset::all(bounds.view.n);
        FoundPair found = lead(bounds, maximizers, maximizers, constraints);
        if (found.first < 0) found = lead(bounds, maximizers, all_arms, constraints);
        if (found.first < 0) found = lead(bounds, all_arms, all_arms, constraints);
        return found;
    }

    // The leader with the best worst case, and its worst partner; ties go to the first leader.
    template <class L>
    static FoundPair lead(WinBounds<L>& bounds, const ArmSubset& leaders, const ArmSubset& followers,
                          const PairConstraints& constraints) {
        FoundPair best{-1, -1, -INF};
        for (i64 a = 0; a < leaders.n; a++) {
            i64 i = leaders.arm(a);
            bounds.compute_widths(i);
            FoundPair worst = bounds.worst_partner(i, followers, constraints, best.value);
            if (worst.first >= 0 && worst.value > best.value) best = worst;
        }
        return best;
    }
};

}  // namespace duelist
