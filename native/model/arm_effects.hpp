// Arms with a term of their own: the utility of arm a is x_a . theta + u_a, or u_a alone where arms have no features.
//
// Before any vote theta_k ~ N(0, v_k) and u_a ~ N(0, v), all independent, with v_k = v / (m s_k): s_k is the size of feature k, which follows
// what is learned (`sizes.hpp`), and m how many features the first arms differ in, so that features and an arm's own term have equal parts in its
// utility. A feature in which no arms have differed has no effect, v_k = 0, until some do. What is known afterwards is a normal
// distribution: a mean, and a covariance that is kept whole over theta and over a block of arms, those that were voted on
// last. An arm outside of the block has its own mean and variance and is taken for independent of everything else. As long
// as all arms that were ever voted on fit in the block, this is the one-pass estimate of `tracking.hpp` with a feature for
// each arm, at a price that does not grow with the arms. docs/decisions/0027 says what is lost where they do not fit.
#pragma once

#include <optional>
#include <vector>

#include "model/links.hpp"
#include "numerics/buffer.hpp"
#include "numerics/random.hpp"
#include "model/feature_scale.hpp"
#include "search/arm_table.hpp"

namespace duelist {

inline constexpr i64 MOST_FREE_ARMS = i64{1} << 24;

// The arms on the table: a number each that stays the same from round to round, and features, of which there may be none.
struct FreeTable {
    const i64* numbers;
    const double* features;  // (n, dim)
    i64 n, dim;
    bool distinct = false;
    const PairSet* out = nullptr;

    const double* features_of(i64 k) const { return features + k * dim; }
    // The same without features, for what looks at positions only.
    Table positions() const { return {nullptr, n, 0, distinct, out}; }
};

// A comparison of two arms: who they are, and features of the first minus those of the second.
struct Compared {
    i64 first, second;
    const double* difference;
};

class OwnTerms {
public:
    i64 dim;
    Link link;
    Random random;
    double own_variance;
    std::vector<double> theta, theta_variance;
    Sizes sizes;
    i64 parts = 1;  // how many features the linear part's variance is shared by

    // One outcome as it was told.
    struct Vote {
        i64 first, second;
        std::vector<double> difference;
        double outcome, mass;
    };
    std::vector<Vote> first_votes;  // while the first arms may yet turn out to be of another kind
    bool has_first_votes = true;    // whether these are all there were, as long as sizes are early

    OwnTerms(Link link, std::vector<double> theta_variance, double own_variance, i64 block);

    // The arms of a round, before anything is learned: they give features a size that have none.
    void meet(const double* arms, i64 n);

    // What is known as it looks in a round of these arms: a copy where they give a feature a size, or show that sizes are not theirs. What is known
    // stays a function of the votes.
    std::optional<OwnTerms> seen_by(const double* arms, i64 n) const;

    // One outcome, the share of the win that goes to the first; whether it taught anything (an arm against itself does not).
    bool learn(Compared seen, double outcome, double mass);

    // A duel that is out counts in the covariance, at the present mean, as if it were answered.
    void expect(const Compared& seen, double mass);

    i64 block() const { return block_; }
    i64 slots() const { return static_cast<i64>(arm_in_.size()); }
    i64 size() const { return dim + slots(); }
    i64 slot_of(i64 arm) const { return known(arm) ? terms_[arm].slot : -1; }
    double mean_of(i64 arm) const { return known(arm) ? terms_[arm].mean : 0.0; }
    // Of an arm's own term.
    double variance_of(i64 arm) const;
    // A line of the covariance: first theta, then the arms of the block.
    const double* line(i64 k) const { return covariance_.data() + k * stride_; }
    const double* line_of_slot(i64 slot) const { return line(dim + slot); }

    // -- to be written down and read again
    struct Term {
        double mean, variance;  // the variance is that of an arm outside of the block
        i64 slot;
    };
    const std::vector<Term>& terms() const { return terms_; }
    const std::vector<i64>& arms_in_block() const { return arm_in_; }
    const std::vector<i64>& last_uses() const { return last_; }
    i64 uses() const { return uses_; }
    void restore(std::vector<Term> terms, std::vector<i64> arms_in_block, std::vector<i64> last_uses, i64 uses,
                 const std::vector<double>& lower_half);

private:
    i64 block_, stride_ = 0;
    i64 uses_ = 0;  // two a vote: the first arm, then the second
    std::vector<Term> terms_;  // by the arm's number
    std::vector<i64> arm_in_;  // by slot
    std::vector<i64> last_;    // when the arm of each slot was last voted on
    Numbers covariance_, reach_;

    void name_sizes(const double* arms, i64 n);
    void keep(Vote vote);
    void follow_sizes(const Numbers& wanted);
    void start_over();
    double prior_of(i64 feature) const;
    void change_prior(i64 feature, double variance);
    void take(const Compared& seen, double outcome, double mass);
    void subtract_square(double sign);
    bool known(i64 arm) const { return arm < static_cast<i64>(terms_.size()); }
    void grow(i64 slots);
    void bring_in(i64 arm, i64 partner);
    i64 place_for(i64 arm, i64 partner);
    double follow(const Compared& seen);
    void shrink(double factor);
};

// Arms of a decision by what is known: utilities, variances, and the covariance of any two. Duels tell nothing of the level of utilities, so all are
// relative to an arm with the middle value of every feature: where features are far from zero (a year, a time stamp), widths would be
// small differences of large numbers.
class OwnView {
public:
    OwnView(const OwnTerms& known, const FreeTable& table);

    i64 n() const { return table_.n; }
    const double* u() const { return utility_.data(); }
    // What the middle values add to every utility.
    double level() const { return kernels->dot(middle_.data(), known_.theta.data(), known_.dim); }
    const double* variance() const { return variance_.data(); }
    // Covariances of one arm with the listed ones (nullptr: with all), in their order.
    void covariances(i64 arm, const i64* listed, i64 count, double* out);
    // Squared widths of the pairs of one arm with the listed ones, from how their features differ: two arms far from the middle have large variances,
    // of which nothing would be left when they are taken from each other.
    void squares(i64 arm, const i64* listed, i64 count, double* out);

    // The `count` arms with the largest scores, by position; of equal ones the first.
    static std::vector<i64> largest(const double* scores, i64 n, i64 count);
    // The arm of the largest utility that has a partner left, itself perhaps; of equal ones the first; -1: none has.
    i64 leader(const Limits& limits) const;

private:
    const OwnTerms& known_;
    const FreeTable& table_;
    std::vector<i64> slot_;
    Numbers utility_, variance_, own_variance_, lifted_, middle_, apart_, pulled_apart_;
    // Of every arm the distance x from the middle, and after those of all, C x + 2 c: C is the covariance of theta, c that of theta with its own term.
    // One piece of memory for both: two are given back to the system after every decision, and to get them again takes a third of its time.
    Numbers lines_;

    double* off(i64 a) { return lines_.data() + a * known_.dim; }
    double* pulled(i64 a) { return off(table_.n + a); }
    void leave_the_middle();
    void pull(i64 a);
    double square(i64 a, i64 b);
};

}  // namespace duelist
