// CCB, Copeland Confidence Bound (Zoghi, Karnin, Whiteson, de Rijke, NeurIPS 2015, Algorithm 1).
//
// integers: the bound L on the number of losses of a Copeland winner; per arm whether it is in B; per pair (i, j)
// whether j is in B^i.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class CCB : public BoundsRule {
public:
    explicit CCB(const Hyperparameters& hyperparameters) : alpha_(hyperparameters.number("alpha")) {}

    void on_new_arms(CountingState& state, i64) const override { reset(state); }

    // Line 7 of the next round: update the hypotheses.
    void on_vote(CountingState& state, const CountedVote&) const override {
        double a = alpha_ * state.log_round();
        if (is_disproved(state, a)) reset(state);  // line 7A
        CopelandScores scores = scores_of(state, all_arms(state), a);
        remove_losers(state, scores, a);  // line 7B
        add_winners(state, scores);       // line 7C
    }

    CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const override {
        std::vector<i64> available = offered.available();
        if (available.empty()) return {};
        double a = alpha_ * state.log_round();
        std::vector<std::pair<i64, i64>> undecided = open_hypotheses(state, offered, a);
        if (!undecided.empty() && random.uniform() < 0.25) {  // line 8
            auto [i, j] = undecided[static_cast<std::size_t>(random.below(static_cast<i64>(undecided.size())))];
            return {i, j};
        }
        std::vector<i64> present(offered.arms, offered.arms + offered.n);
        CopelandScores scores = scores_of(state, present, a);
        std::vector<i64> best =
            largest(available, [&](i64 i) { return static_cast<double>(scores.upper[static_cast<std::size_t>(i)]); });
        std::vector<i64> in_hypothesis;
        for (i64 i : best)
            if (in_b(state, i)) in_hypothesis.push_back(i);
        if (!in_hypothesis.empty() && random.uniform() < 2.0 / 3.0) best = in_hypothesis;  // line 9
        i64 c = random_choice(random, best);                                               // line 10
        return {c, opponent(state, random, offered, c, a)};                                // lines 11 and 12
    }

    bool is_valid_state(const CountingState& state) const override {
        return state.reals.empty() && has_size(state.integers, 1 + state.n + state.n * state.n) &&
               state.integers[0] >= 0 && state.integers[0] <= state.n &&
               are_flags(state.integers, 1, state.n + state.n * state.n);
    }

private:
    double alpha_;

    struct CopelandScores {
        std::vector<i64> upper, lower;  // of the Copeland score, per arm
    };

    static i64& losses(CountingState& state) { return state.integers[0]; }
    static i64& in_b(CountingState& state, i64 i) { return state.integers[static_cast<std::size_t>(1 + i)]; }
    static bool in_b(const CountingState& state, i64 i) { return state.integers[static_cast<std::size_t>(1 + i)] != 0; }
    static i64* beaten_by(CountingState& state, i64 i) {
        return state.integers.data() + 1 + state.n + i * state.n;
    }  // B^i
    static const i64* beaten_by(const CountingState& state, i64 i) {
        return state.integers.data() + 1 + state.n + i * state.n;
    }
    static i64 size_of(const CountingState& state, i64 i) {
        const i64* set = beaten_by(state, i);
        return std::count(set, set + state.n, 1);
    }
    static std::vector<i64> all_arms(const CountingState& state) {
        std::vector<i64> all;
        for (i64 i = 0; i < state.n; i++) all.push_back(i);
        return all;
    }

    static void reset(CountingState& state) {
        state.integers.assign(static_cast<std::size_t>(1 + state.n + state.n * state.n), 0);
        losses(state) = state.n;
        for (i64 i = 0; i < state.n; i++) in_b(state, i) = 1;
    }

    static CopelandScores scores_of(const CountingState& state, const std::vector<i64>& arms, double a) {
        CopelandScores scores{std::vector<i64>(static_cast<std::size_t>(state.n), 0),
                              std::vector<i64>(static_cast<std::size_t>(state.n), 0)};
        for (i64 i : arms)
            for (i64 j : arms)
                if (i != j) {
                    scores.upper[static_cast<std::size_t>(i)] += may_beat(state, i, j, a);
                    scores.lower[static_cast<std::size_t>(i)] += beats(state, i, j, a);
                }
        return scores;
    }

    // Whether some arm i certainly beats an arm j in B^i.
    static bool is_disproved(const CountingState& state, double a) {
        for (i64 i = 0; i < state.n; i++)
            for (i64 j = 0; j < state.n; j++)
                if (beaten_by(state, i)[j] && beats(state, i, j, a)) return true;
        return false;
    }

    static void remove_losers(CountingState& state, const CopelandScores& scores, double a) {
        i64 most = *std::max_element(scores.lower.begin(), scores.lower.end()), left = 0;
        for (i64 i = 0; i < state.n; i++) {
            if (!in_b(state, i)) continue;
            if (scores.upper[static_cast<std::size_t>(i)] >= most) {
                left++;
                continue;
            }
            in_b(state, i) = 0;
            if (size_of(state, i) != losses(state) + 1)
                for (i64 j = 0; j < state.n; j++) beaten_by(state, i)[j] = i != j && !may_beat(state, i, j, a);
        }
        if (left == 0) reset(state);
    }

    void add_winners(CountingState& state, const CopelandScores& scores) const {
        i64 most = *std::max_element(scores.upper.begin(), scores.upper.end());
        for (i64 i = 0; i < state.n; i++) {
            i64 upper = scores.upper[static_cast<std::size_t>(i)];
            if (upper != most || upper != scores.lower[static_cast<std::size_t>(i)]) continue;
            in_b(state, i) = 1;
            std::fill(beaten_by(state, i), beaten_by(state, i) + state.n, 0);
            losses(state) = state.n - 1 - upper;
            for (i64 j = 0; j < state.n; j++)
                if (j != i) shorten(state, j, losses(state) + 1);
        }
    }

    // Shrink B^j to `size` random members, or clear it if it has fewer.
    static void shorten(CountingState& state, i64 j, i64 size) {
        i64* set = beaten_by(state, j);
        std::vector<i64> members;
        for (i64 k = 0; k < state.n; k++)
            if (set[k]) members.push_back(k);
        if (static_cast<i64>(members.size()) < size) std::fill(set, set + state.n, 0);
        while (static_cast<i64>(members.size()) > size) {
            i64 k = state.random.below(static_cast<i64>(members.size()));
            set[members[static_cast<std::size_t>(k)]] = 0;
            members.erase(members.begin() + k);
        }
    }

    // Pairs (i, j) with j in B^i that are undecided.
    static std::vector<std::pair<i64, i64>> open_hypotheses(const CountingState& state, const OfferedArms& offered,
                                                            double a) {
        std::vector<std::pair<i64, i64>> found;
        for (i64 x = 0; x < offered.n; x++)
            for (i64 y = 0; y < offered.n; y++) {
                i64 i = offered.arms[x], j = offered.arms[y];
                if (i != j && beaten_by(state, i)[j] && may_beat(state, i, j, a) && may_beat(state, j, i, a) &&
                    offered.allows(i, j))
                    found.push_back({i, j});
            }
        return found;
    }

    static i64 opponent(const CountingState& state, Sfc64& random, const OfferedArms& offered, i64 c, double a) {
        std::vector<i64> partners = offered.partners(c), open, of_b;
        for (i64 j : partners)
            if (may_beat(state, c, j, a)) {  // l_jc <= 1/2
                open.push_back(j);
                if (beaten_by(state, c)[j]) of_b.push_back(j);
            }
        bool from_b = random.uniform() < 0.5;
        if (from_b && !of_b.empty()) open = of_b;
        return challenger(state, random, open.empty() ? partners : open, c, a);
    }
};

}  // namespace duelist
