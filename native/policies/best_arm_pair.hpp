// BestArmPair (top two, LinGapE): the comparison that tells most about the leader and its strongest rival.
#pragma once

#include <numeric>

#include "policies/selection_rule.hpp"

namespace duelist {

class BestArmPair : public SelectionRule {
public:
    explicit BestArmPair(const Hyperparameters&) {}

    bool local() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        if (workspace.cache.recall(table, 0.0)) return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table, true);
        FoundPair pair = choose(state.link, view, workspace, table);
        return workspace.cache.remember({pair.first, pair.second, 0, 1.0});
    }

    bool supports_arm_effects() const override { return true; }

    // As above, among the pair of leader and rival, and pairs of the 32 arms that lie farthest along on one side with the 32 on the
    // other; while nobody leads, the widest pair of the 64 arms that least is known about. Up to 64 arms: among all pairs. Where none
    // of these may be asked, among the pairs of the best arm that has a partner left.
    Decision decide_with_effects(const ArmEffectsState& known, Sfc64&, i64, const ArmTable& table) const override {
        if (table.n == 1) return {0, 0, 0, 1.0};
        ArmEffectsView view(known, table);
        FoundPair pair = choose_with_effects(known.link, view, table);
        return {pair.first, pair.second, 0, 1.0};
    }

private:
    static constexpr i64 ENDS = 64;
    static constexpr i64 FREE_ENDS = 32;
    static constexpr double EAGERNESS = 3.0;

    // What a pair is worth: how much it tells about leader and rival, or how wide it is while nobody leads.
    struct PairValue {
        Link link;
        const double* u;
        const double* along;  // nullptr: nobody leads

        double operator()(i64 i, i64 j, double square) const {
            return along ? variance_reduction(slope(link, shrunk_gap(u[i] - u[j], square)), along[i] - along[j], square)
                         : square;
        }
    };

    // The best of the pairs that were tried; equal ones: the first.
    struct EffectsPairSearch {
        ArmEffectsView& view;
        PairConstraints constraints;
        PairValue worth;
        AlignedDoubles line;
        FoundPair found = NO_PAIR;

        // Pairs of one arm with the listed ones (nullptr: with all).
        void try_pairs(i64 arm, const i64* listed, i64 count) {
            view.squares(arm, listed, count, line.fit(padded(count)));
            for (i64 k = 0; k < count; k++) {
                i64 partner = listed ? listed[k] : k;
                if (partner == arm || !constraints.allows(arm, partner)) continue;
                double value = worth(arm, partner, line[k]);
                if (found.first < 0 || value > found.value)
                    found = {std::min(arm, partner), std::max(arm, partner), value};
            }
        }

        // All pairs of the listed arms.
        void try_all(const std::vector<i64>& listed) {
            i64 count = static_cast<i64>(listed.size());
            for (i64 k = 0; k + 1 < count; k++) try_pairs(listed[k], listed.data() + k + 1, count - k - 1);
        }
    };

    static FoundPair choose_with_effects(Link link, ArmEffectsView& view, const ArmTable& table) {
        i64 n = table.n, leader = kernels->argmax(view.u(), n);
        PairConstraints different = table.constraints();
        different.distinct = true;
        AlignedDoubles squares(padded(n)), along(padded(n));
        view.squares(leader, nullptr, n, squares.data());
        i64 rival = strongest(view.u(), n, leader, squares.data());
        if (rival < 0) return first_pair(n, different);
        bool led = !std::all_of(view.u(), view.u() + n, [&](double u) { return u == view.u()[leader]; });
        if (led) lie_along(view, leader, rival, along.data());
        EffectsPairSearch search{view, different, {link, view.u(), led ? along.data() : nullptr}, {}};
        if (led && n > 2 * FREE_ENDS) {
            search.try_pairs(leader, &rival, 1);
            auto [low, high] = ends(along.data(), n);
            for (i64 arm : low) search.try_pairs(arm, high.data(), FREE_ENDS);
        } else {
            search.try_all(ArmEffectsView::largest(view.variance(), n, 2 * FREE_ENDS));
        }
        i64 best = search.found.first < 0 ? view.leader(different) : -1;
        if (best >= 0) search.try_pairs(best, nullptr, n);
        return search.found;
    }

    // out_a = the covariance of arm a with leader minus rival.
    static void lie_along(ArmEffectsView& view, i64 leader, i64 rival, double* out) {
        AlignedDoubles other(padded(view.n()));
        view.covariances(leader, nullptr, view.n(), out);
        view.covariances(rival, nullptr, view.n(), other.data());
        for (i64 a = 0; a < view.n(); a++) out[a] -= other[a];
    }

    // The arms that lie farthest along on either side, by position.
    static std::pair<std::vector<i64>, std::vector<i64>> ends(const double* along, i64 n) {
        std::vector<double> turned(static_cast<std::size_t>(n));
        for (i64 a = 0; a < n; a++) turned[a] = -along[a];
        return {ArmEffectsView::largest(turned.data(), n, FREE_ENDS), ArmEffectsView::largest(along, n, FREE_ENDS)};
    }

    static FoundPair choose(Link link, const ArmView& view, Workspace& workspace, const ArmTable& table) {
        if (table.n == 1) return {0, 0, 0.0};
        PairConstraints different = table.constraints();
        different.distinct = true;  // an arm against itself tells nothing
        i64 leader = kernels->argmax(view.u, view.n);
        i64 rival = strongest_rival(view, leader, workspace.line.data());
        if (rival < 0) return first_pair(view.n, different);  // all arms are equal
        if (all_utilities_equal(view, leader)) return widest_pair(view, different, workspace);
        double* along = workspace.near_u.data();
        project(view, leader, rival, along);
        if (view.n >= MANY_ARMS) {
            FoundPair found = most_informative_of_ends(link, view, along, different);
            if (found.first >= 0) return found;
        }
        return most_informative_pair(link, view, along, different, workspace.line.data());
    }

    // Whether all utilities are equal, as they are before the first vote.
    static bool all_utilities_equal(const ArmView& view, i64 leader) {
        return std::all_of(view.u, view.u + view.n, [&](double u) { return u == view.u[leader]; });
    }

    // The rival of the leader; -1: no arm differs from it.
    static i64 strongest_rival(const ArmView& view, i64 leader, double* line) {
        kernels->squared_widths(view.v, view.stride, view.dim, leader, 0, view.n, line);
        return strongest(view.u, view.n, leader, line);
    }

    // The cost of ruling an arm out is its squared gap in variances; one that is known well already has to be cheaper: EAGERNESS times the
    // logarithm of what is known. Without it an arm that was unlucky once is never asked about again while others are close.
    static i64 strongest(const double* u, i64 n, i64 leader, const double* squares) {
        i64 rival = -1;
        double least = INF;
        for (i64 j = 0; j < n; j++) {
            if (!(squares[j] > 0.0)) continue;
            double gap = u[leader] - u[j];
            double cost = gap * gap / squares[j] - EAGERNESS * log(squares[j]);
            if (rival < 0 || cost < least) {
                rival = j;
                least = cost;
            }
        }
        return rival;
    }

    // out_a = (x_leader - x_rival)' H^-1 x_a.
    static void project(const ArmView& view, i64 leader, i64 rival, double* out) {
        for (i64 a = 0; a < view.n; a++) out[a] = 0.0;
        for (i64 k = 0; k < view.dim; k++) {
            const double* row = view.v + k * view.stride;
            double part = row[leader] - row[rival];
            for (i64 a = 0; a < view.n; a++) out[a] += part * row[a];
        }
    }

    // By how much one more outcome of a pair shrinks the squared width of the leader and its rival.
    static double variance_reduction(double slope, double along, double square) {
        return slope * along * along / (1.0 + slope * square);
    }

    // argmax over i < j of the lesson; equal ones: the first.
    static FoundPair most_informative_pair(Link link, const ArmView& view, const double* along,
                                           const PairConstraints& constraints, double* line) {
        FoundPair found = NO_PAIR;
        with_link(link, [&](auto l) {
            for (i64 i = 0; i + 1 < view.n; i++) {
                kernels->squared_widths(view.v, view.stride, view.dim, i, i + 1, view.n, line);
                for (i64 j = i + 1; j < view.n; j++) {
                    double apart = along[i] - along[j], square = line[j - i - 1];
                    // The lesson is at most that of the largest slope; most pairs need no exponential.
                    if (found.first >= 0 && variance_reduction(l.max_slope, apart, square) < found.value) continue;
                    double value =
                        variance_reduction(l.slope(shrunk_gap(view.u[i] - view.u[j], square)), apart, square);
                    if ((found.first < 0 || value > found.value) && constraints.allows(i, j)) found = {i, j, value};
                }
            }
        });
        return found;
    }

    // The same between the arms that lie farthest along, on either side; none where no pair of these may be asked.
    static FoundPair most_informative_of_ends(Link link, const ArmView& view, const double* along,
                                              const PairConstraints& constraints) {
        std::vector<i64> order(static_cast<std::size_t>(view.n));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) { return along[a] < along[b]; });
        FoundPair found = NO_PAIR;
        for (i64 low = 0; low < ENDS; low++)
            for (i64 high = view.n - ENDS; high < view.n; high++) {
                i64 i = order[low], j = order[high];
                double square = view.square(i, j), gap = shrunk_gap(view.u[i] - view.u[j], square);
                double value = variance_reduction(slope(link, gap), along[i] - along[j], square);
                if ((found.first < 0 || value > found.value) && constraints.allows(i, j))
                    found = {std::min(i, j), std::max(i, j), value};
            }
        return found;
    }
};

}  // namespace duelist
