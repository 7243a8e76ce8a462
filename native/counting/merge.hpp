// MergeRUCB (Zoghi, Whiteson, de Rijke, WSDM 2015, Algorithm 1) and MergeDTS (Li, Markov, de Rijke, Zoghi, TOIS 2020,
// Algorithm 1): duels within small batches, elimination of losers, and merging of batches as they shrink.
//
// integers: the stage S (from 1), the number of batches, the batch of the next round, and per arm its batch, -1 once
// eliminated.
#pragma once

#include "counting/counting_rule.hpp"
#include "numerics/beta.hpp"

namespace duelist {

class MergeRule : public CountingRule {
public:
    explicit MergeRule(const Hyperparameters& hyperparameters)
        : alpha_(hyperparameters.number("alpha")),
          delta_(hyperparameters.number("delta")),
          size_(hyperparameters.whole("batch_size")) {
        if (size_ < 2 || !(alpha_ > 0.5) || !(delta_ > 0.0))
            throw std::invalid_argument("batch_size, alpha or delta is too small.");
    }

    // The first arms are dealt to batches at random; later ones join the smallest batch.
    void on_new_arms(CountingState& state, i64 before) const override {
        if (before == 0) state.integers = {1, 0, 0};
        state.integers.resize(static_cast<std::size_t>(3 + state.n), -1);
        if (before == 0) {
            std::vector<i64> order;
            for (i64 i = 0; i < state.n; i++) order.push_back(i);
            for (i64 i = state.n - 1; i > 0; i--) {
                i64 other = state.random.below(i + 1);
                std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(other)]);
            }
            for (i64 k = 0; k < state.n; k++) batch_of(state, order[static_cast<std::size_t>(k)]) = k / size_;
            state.integers[1] = (state.n + size_ - 1) / size_;
        } else {
            for (i64 i = before; i < state.n; i++) {
                std::vector<i64> sizes = sizes_of(state);
                batch_of(state, i) = std::min_element(sizes.begin(), sizes.end()) - sizes.begin();
            }
        }
        settle(state);
    }

    void on_vote(CountingState& state, const CountedVote&) const override { settle(state); }

    CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const override {
        std::vector<i64> left, here;
        for (i64 k = 0; k < offered.n; k++) {
            i64 i = offered.arms[k];
            if (batch_of(state, i) < 0 || !offered.can_duel(i)) continue;
            left.push_back(i);
            if (batch_of(state, i) == turn(state)) here.push_back(i);
        }
        if (left.empty()) return least_compared(state, offered, EXPLOIT);
        if (survivors(state) == 1) return against_best_rival(state, offered, left[0], EXPLOIT);
        if (here.size() < 2) here = left;
        i64 c = champion(state, random, here);
        std::vector<i64> rivals;
        for (i64 j : here)
            if (j != c && offered.allows(c, j)) rivals.push_back(j);
        if (rivals.empty()) {  // the rest of its batch is pending or not offered
            rivals = offered.partners(c);
            if (rivals.size() > 1) std::erase(rivals, c);
        }
        return {c, rivals.size() == 1 ? rivals[0] : rival(state, random, rivals, c), EXPLORE};
    }

    bool is_valid_state(const CountingState& state) const override {
        if (!state.reals.empty() || !has_size(state.integers, 3 + state.n) || state.integers[0] < 1 ||
            state.integers[0] > MAX_ROUNDS || state.integers[1] < 1 || state.integers[1] > state.n ||
            state.integers[2] < 0 || state.integers[2] >= state.integers[1])
            return false;
        for (i64 i = 0; i < state.n; i++)
            if (batch_of(state, i) < -1 || batch_of(state, i) >= state.integers[1]) return false;
        std::vector<i64> sizes = sizes_of(state);
        return std::find(sizes.begin(), sizes.end(), 0) == sizes.end();
    }

protected:
    virtual i64 champion(const CountingState& state, Sfc64& random, const std::vector<i64>& batch) const = 0;
    virtual i64 rival(const CountingState& state, Sfc64& random, const std::vector<i64>& rivals, i64 c) const = 0;

    // u_ij with a = alpha log(t + C), C = ((4 alpha - 1) K^2 / ((2 alpha - 1) delta))^(1 / (2 alpha - 1)).
    double upper(const CountingState& state, i64 i, i64 j) const {
        double met = state.met(i, j);
        return met > 0.0 ? state.won(i, j) / met + std::sqrt(bonus(state) / met) : 2.0;
    }
    static double sample(const CountingState& state, Sfc64& random, i64 i, i64 j) {
        return draw_beta(random, state.won(i, j) + 1.0, state.won(j, i) + 1.0);
    }

private:
    double alpha_, delta_;
    i64 size_;

    static i64 turn(const CountingState& state) { return state.integers[2]; }
    static i64& batch_of(CountingState& state, i64 i) { return state.integers[static_cast<std::size_t>(3 + i)]; }
    static i64 batch_of(const CountingState& state, i64 i) { return state.integers[static_cast<std::size_t>(3 + i)]; }
    static std::vector<i64> sizes_of(const CountingState& state) {
        std::vector<i64> sizes(static_cast<std::size_t>(state.integers[1]), 0);
        for (i64 i = 0; i < state.n; i++)
            if (batch_of(state, i) >= 0) sizes[static_cast<std::size_t>(batch_of(state, i))]++;
        return sizes;
    }
    static i64 survivors(const CountingState& state) {
        return std::count_if(state.integers.begin() + 3, state.integers.end(), [](i64 batch) { return batch >= 0; });
    }

    double bonus(const CountingState& state) const {
        double arms = static_cast<double>(state.n), rate = 2.0 * alpha_ - 1.0;
        double shift = log((4.0 * alpha_ - 1.0) * arms * arms / (rate * delta_)) / rate;  // log C > 0
        return alpha_ * (shift + log1p(static_cast<double>(state.round()) * exp_neg_abs(shift)));
    }

    // The steps before the decision of round t: merge batches at the end of a stage, eliminate the losers of the
    // round's batch, and merge it with the next one if a single arm is left.
    void settle(CountingState& state) const {
        i64 &stage = state.integers[0], &batches = state.integers[1];
        double few = static_cast<double>(state.n) / power_of_two(std::min<i64>(stage, 60));
        if (batches > 1 && static_cast<double>(survivors(state)) <= few) {
            merge_all(state);
            std::vector<i64> sizes = sizes_of(state);
            if (2 * *std::min_element(sizes.begin(), sizes.end()) <= size_) merge_all(state);
            stage++;
        }
        state.integers[2] = state.round() % batches;
        std::vector<i64> batch = members(state, turn(state)), losers;
        for (i64 i : batch)
            for (i64 j : batch)
                if (i != j && upper(state, i, j) < 0.5) {
                    losers.push_back(i);
                    break;
                }
        if (losers.size() < batch.size())  // a cycle could eliminate all
            for (i64 i : losers) batch_of(state, i) = -1;
        if (batches > 1 && batch.size() - losers.size() == 1)
            join_batches(state, turn(state), (turn(state) + 1) % batches);
    }

    static std::vector<i64> members(const CountingState& state, i64 batch) {
        std::vector<i64> found;
        for (i64 i = 0; i < state.n; i++)
            if (batch_of(state, i) == batch) found.push_back(i);
        return found;
    }

    // Merge two batches into the earlier one and renumber those after the later one.
    static void join_batches(CountingState& state, i64 one, i64 other) {
        i64 row_statistic = std::min(one, other), removed = std::max(one, other);
        for (i64 i = 0; i < state.n; i++) {
            i64& batch = batch_of(state, i);
            if (batch == removed)
                batch = row_statistic;
            else if (batch > removed)
                batch--;
        }
        state.integers[1]--;
        state.integers[2] = row_statistic;
    }

    // Merge the smallest with the largest, unless together they exceed 1.5 times the batch size.
    void merge_all(CountingState& state) const {
        std::vector<i64> sizes = sizes_of(state), order;
        for (i64 b = 0; b < state.integers[1]; b++) order.push_back(b);
        std::stable_sort(order.begin(), order.end(), [&](i64 x, i64 y) {
            return sizes[static_cast<std::size_t>(x)] < sizes[static_cast<std::size_t>(y)];
        });
        std::vector<i64> moved(order.size(), 0);
        i64 low = 0, high = state.integers[1] - 1, made = 0;
        while (low <= high) {
            i64 small = order[static_cast<std::size_t>(low)], large = order[static_cast<std::size_t>(high)];
            i64 together = sizes[static_cast<std::size_t>(small)] + sizes[static_cast<std::size_t>(large)];
            moved[static_cast<std::size_t>(large)] = made;
            if (low < high && 2 * together <= 3 * size_) moved[static_cast<std::size_t>(small)] = made, low++;
            high--, made++;
        }
        for (i64 i = 0; i < state.n; i++)
            if (batch_of(state, i) >= 0) batch_of(state, i) = moved[static_cast<std::size_t>(batch_of(state, i))];
        state.integers[1] = made;
    }
};

class MergeRUCB : public MergeRule {
public:
    using MergeRule::MergeRule;

protected:
    i64 champion(const CountingState&, Sfc64& random, const std::vector<i64>& batch) const override {
        return random_choice(random, batch);
    }
    i64 rival(const CountingState& state, Sfc64& random, const std::vector<i64>& rivals, i64 c) const override {
        return random_choice(random, largest(rivals, [&](i64 j) { return upper(state, j, c); }));
    }
};

class MergeDTS : public MergeRule {
public:
    using MergeRule::MergeRule;

protected:
    // The arm with the most wins in its batch by one sample of all probabilities.
    i64 champion(const CountingState& state, Sfc64& random, const std::vector<i64>& batch) const override {
        std::vector<double> wins(static_cast<std::size_t>(state.n), 0.0);
        for (std::size_t x = 0; x < batch.size(); x++)
            for (std::size_t y = x + 1; y < batch.size(); y++) {
                double theta = sample(state, random, batch[x], batch[y]);
                wins[static_cast<std::size_t>(batch[x])] += theta > 0.5;
                wins[static_cast<std::size_t>(batch[y])] += theta < 0.5;
            }
        return random_choice(random, largest(batch, [&](i64 i) { return wins[static_cast<std::size_t>(i)]; }));
    }
    // The arm with the smallest probability of beating it in a second sample.
    i64 rival(const CountingState& state, Sfc64& random, const std::vector<i64>& rivals, i64 c) const override {
        i64 worst = -1;
        double least = INF;
        for (i64 j : rivals) {
            double theta = j == c ? 0.5 : sample(state, random, j, c);
            if (theta < least) worst = j, least = theta;
        }
        return worst;
    }
};

}  // namespace duelist
