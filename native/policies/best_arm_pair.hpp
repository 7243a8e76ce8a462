// BestArmPair (top two, LinGapE): the comparison with the most information about the leader and its strongest rival.
#pragma once

#include <numeric>
#include <tuple>

#include "policies/selection_rule.hpp"

namespace duelist {

class BestArmPair : public SelectionRule {
public:
    explicit BestArmPair(const Hyperparameters&) {}

    bool local() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        if (workspace.cache.hit(table, 0.0)) return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table, true);
        FoundPair pair = choose(state.link, view, workspace, table);
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }

    bool supports_arm_effects() const override { return true; }

    // Leader and rival are the best arms of two draws (`top_two`). The pair is the most informative about them, as above,
    // but only among the leader and its rival, and the pairs of the 32 arms with the largest covariance with their
    // difference and the 32 with the smallest. If all utilities are equal, the widest pair of the 64 arms of largest
    // variance; up to 64 arms, of all. If none of these pairs is allowed, among the pairs of the best arm that has a
    // partner.
    Decision decide_with_effects(const ArmEffectsState& known, Sfc64& random, i64,
                                 const ArmTable& table) const override {
        if (table.n == 1) return {0, 0, 0, 1.0};
        ArmEffectsView view(known, table);
        FoundPair pair = choose_with_effects(known.link, view, random, table);
        return {pair.first, pair.second, 0, 1.0};
    }

private:
    static constexpr i64 ENDS = 64;
    static constexpr i64 EFFECT_ENDS = 32;
    static constexpr double EAGERNESS = 3.0;
    static constexpr i64 CONTENDERS = 16;
    static constexpr int DRAWS = 8;
    static constexpr double REACH = 2.0;
    static constexpr double JITTER = 1e-9;

    // The value of a pair: its information about leader and rival, or its squared width if there is no leader.
    struct PairValue {
        Link link;
        const double* u;
        const double* along;  // null: there is no leader

        double operator()(i64 i, i64 j, double square) const {
            return along ? variance_reduction(slope(link, shrunk_gap(u[i] - u[j], square)), along[i] - along[j], square)
                         : square;
        }
    };

    // The best of the pairs tried; ties go to the first.
    struct EffectsPairSearch {
        ArmEffectsView& view;
        PairConstraints constraints;
        PairValue value_of;
        AlignedDoubles line;
        FoundPair found = NO_PAIR;

        // Try the pairs of an arm with these partners.
        void try_pairs(i64 arm, const ArmSubset& partners) {
            view.squared_widths(arm, partners, line.fit(padded(partners.n)));
            for (i64 k = 0; k < partners.n; k++) {
                i64 partner = partners.arm(k);
                if (partner == arm || !constraints.allows(arm, partner)) continue;
                double value = value_of(arm, partner, line[k]);
                if (found.first < 0 || value > found.value)
                    found = {std::min(arm, partner), std::max(arm, partner), value};
            }
        }

        // Try all pairs of the listed arms.
        void try_all(const std::vector<i64>& listed) {
            i64 count = static_cast<i64>(listed.size());
            for (i64 k = 0; k + 1 < count; k++) try_pairs(listed[k], ArmSubset::after(listed, k));
        }
    };

    static FoundPair choose_with_effects(Link link, ArmEffectsView& view, Sfc64& random, const ArmTable& table) {
        i64 n = table.n, leader = kernels->argmax(view.u(), n), rival = -1;
        PairConstraints different = table.constraints();
        different.distinct = true;
        AlignedDoubles along(padded(n));
        bool has_leader = !std::all_of(view.u(), view.u() + n, [&](double u) { return u == view.u()[leader]; });
        if (has_leader) {
            std::tie(leader, rival) = top_two(view, random);
            covariances_with_gap(view, leader, rival, along.data());
        }
        EffectsPairSearch search{view, different, {link, view.u(), has_leader ? along.data() : nullptr}, {}};
        if (has_leader && n > 2 * EFFECT_ENDS) {
            search.try_pairs(leader, {&rival, 1});
            auto [lowest, highest] = ends(along.data(), n);
            for (i64 arm : lowest) search.try_pairs(arm, ArmSubset::of(highest));
        } else {
            search.try_all(ArmEffectsView::largest(view.variance(), n, 2 * EFFECT_ENDS));
        }
        i64 best = search.found.first < 0 ? view.leader(different) : -1;
        if (best >= 0) search.try_pairs(best, ArmSubset::all(n));
        return search.found;
    }

    // Top-two Thompson sampling (Russo 2016): the best arm of a draw from the posterior, and the best of the next draw
    // that has another one; after DRAWS such draws, the second best of the last. Only the CONTENDERS arms of largest
    // utility plus REACH standard deviations are drawn.
    static std::pair<i64, i64> top_two(ArmEffectsView& view, Sfc64& random) {
        i64 n = view.n();
        std::vector<double> scores(static_cast<std::size_t>(n));
        for (i64 a = 0; a < n; a++) scores[a] = view.u()[a] + REACH * std::sqrt(std::max(view.variance()[a], 0.0));
        std::vector<i64> arms = ArmEffectsView::largest(scores.data(), n, CONTENDERS);
        i64 count = static_cast<i64>(arms.size());
        double root[CONTENDERS][CONTENDERS], drawn[CONTENDERS], noise[CONTENDERS];
        factor(view, arms, root);
        auto best_of_draw = [&] {
            for (i64 k = 0; k < count; k++) {
                noise[k] = random.normal();
                drawn[k] = view.u()[arms[k]];
                for (i64 j = 0; j <= k; j++) drawn[k] += root[k][j] * noise[j];
            }
            return std::max_element(drawn, drawn + count) - drawn;
        };
        i64 leader = best_of_draw();
        for (int draw = 0; draw < DRAWS; draw++) {
            i64 rival = best_of_draw();
            if (rival != leader) return {arms[leader], arms[rival]};
        }
        drawn[leader] = -INF;
        return {arms[leader], arms[std::max_element(drawn, drawn + count) - drawn]};
    }

    // The lower Cholesky factor of the covariance of some arms, with a little on its diagonal.
    static void factor(ArmEffectsView& view, const std::vector<i64>& arms, double root[][CONTENDERS]) {
        i64 count = static_cast<i64>(arms.size());
        double largest = 0.0;
        for (i64 arm : arms) largest = std::max(largest, view.variance()[arm]);
        for (i64 i = 0; i < count; i++) {
            view.squared_widths(arms[i], {arms.data(), i + 1}, root[i]);
            for (i64 j = 0; j <= i; j++) {
                double rest = 0.5 * (view.variance()[arms[i]] + view.variance()[arms[j]] - root[i][j]);
                if (i == j) rest += JITTER * largest;
                for (i64 k = 0; k < j; k++) rest -= root[i][k] * root[j][k];
                root[i][j] = i == j ? std::sqrt(std::max(rest, JITTER * largest)) : rest / root[j][j];
            }
        }
    }

    // out_a = the covariance of arm a with the leader minus the rival.
    static void covariances_with_gap(ArmEffectsView& view, i64 leader, i64 rival, double* out) {
        AlignedDoubles other(padded(view.n()));
        view.covariances(leader, ArmSubset::all(view.n()), out);
        view.covariances(rival, ArmSubset::all(view.n()), other.data());
        for (i64 a = 0; a < view.n(); a++) out[a] -= other[a];
    }

    // Positions of the arms with the largest and the smallest covariance.
    static std::pair<std::vector<i64>, std::vector<i64>> ends(const double* along, i64 n) {
        std::vector<double> negated(static_cast<std::size_t>(n));
        for (i64 a = 0; a < n; a++) negated[a] = -along[a];
        return {ArmEffectsView::largest(negated.data(), n, EFFECT_ENDS),
                ArmEffectsView::largest(along, n, EFFECT_ENDS)};
    }

    static FoundPair choose(Link link, const ArmView& view, Workspace& workspace, const ArmTable& table) {
        if (table.n == 1) return {0, 0, 0.0};
        PairConstraints different = table.constraints();
        different.distinct = true;  // a self-duel has no information
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

    // The rival of the leader; -1 if no arm differs from it.
    static i64 strongest_rival(const ArmView& view, i64 leader, double* line) {
        kernels->squared_widths(view.v, view.stride, view.dim, leader, 0, view.n, line);
        return cheapest_rival(view.u, view.n, leader, line);
    }

    // The arm that is cheapest to mistake for the best: its squared gap in units of its variance, minus EAGERNESS times
    // the logarithm of the variance. Without the logarithm, an arm with early bad luck would not be compared again
    // while others are close.
    static i64 cheapest_rival(const double* u, i64 n, i64 leader, const double* squares) {
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

    // By how much another outcome of a pair reduces the squared width of leader and rival.
    static double variance_reduction(double slope, double along, double square) {
        return slope * along * along / (1.0 + slope * square);
    }

    // argmax over allowed i < j of the variance reduction; ties go to the first.
    static FoundPair most_informative_pair(Link link, const ArmView& view, const double* along,
                                           const PairConstraints& constraints, double* line) {
        FoundPair found = NO_PAIR;
        with_link(link, [&](auto l) {
            for (i64 i = 0; i + 1 < view.n; i++) {
                kernels->squared_widths(view.v, view.stride, view.dim, i, i + 1, view.n, line);
                for (i64 j = i + 1; j < view.n; j++) {
                    double apart = along[i] - along[j], square = line[j - i - 1];
                    // The reduction is at most that of the largest slope, so most pairs need no exponential.
                    if (found.first >= 0 && variance_reduction(l.max_slope, apart, square) < found.value) continue;
                    double value =
                        variance_reduction(l.slope(shrunk_gap(view.u[i] - view.u[j], square)), apart, square);
                    if ((found.first < 0 || value > found.value) && constraints.allows(i, j)) found = {i, j, value};
                }
            }
        });
        return found;
    }

    // As above, between the ENDS arms on either side; no pair if none of these is allowed.
    static FoundPair most_informative_of_ends(Link link, const ArmView& view, const double* along,
                                              const PairConstraints& constraints) {
        std::vector<i64> order(static_cast<std::size_t>(view.n));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) { return along[a] < along[b]; });
        FoundPair found = NO_PAIR;
        for (i64 lowest = 0; lowest < ENDS; lowest++)
            for (i64 highest = view.n - ENDS; highest < view.n; highest++) {
                i64 i = order[lowest], j = order[highest];
                double square = view.squared_width(i, j), gap = shrunk_gap(view.u[i] - view.u[j], square);
                double value = variance_reduction(slope(link, gap), along[i] - along[j], square);
                if ((found.first < 0 || value > found.value) && constraints.allows(i, j))
                    found = {std::min(i, j), std::max(i, j), value};
            }
        return found;
    }
};

}  // namespace duelist
