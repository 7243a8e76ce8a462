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

#include "model/feature_scale.hpp"
#include "model/links.hpp"
#include "numerics/buffer.hpp"
#include "numerics/random.hpp"

namespace duelist {

inline constexpr i64 MAX_ARM_ID = i64{1} << 24;

// A comparison of two arms: who they are, and features of the first minus those of the second.
struct ArmComparison {
    i64 first, second;
    const double* difference;
};

class ArmEffectsState {
public:
    i64 dim;
    Link link;
    Sfc64 random;
    double effect_variance;
    std::vector<double> theta, theta_variance;
    FeatureScale scale;
    i64 parts = 1;  // how many features the linear part's variance is shared by

    // One outcome as it was told.
    struct EarlyVote {
        i64 first, second;
        std::vector<double> difference;
        double outcome, mass;
    };
    std::vector<EarlyVote> early_votes;  // while the first arms may yet turn out to be of another kind
    bool has_all_early_votes = true;     // whether these are all there were, as long as sizes are early

    ArmEffectsState(Link link, std::vector<double> theta_variance, double effect_variance, i64 block);

    // The arms of a round, before anything is learned: they give features a size that have none.
    void meet(const double* arms, i64 n);

    // What is known as it looks in a round of these arms: a copy where they give a feature a size, or show that sizes are not theirs. What is known
    // stays a function of the votes.
    std::optional<ArmEffectsState> seen_by(const double* arms, i64 n) const;

    // One outcome, the share of the win that goes to the first; whether it taught anything (an arm against itself does not).
    bool learn(ArmComparison seen, double outcome, double mass);

    // A duel that is out counts in the covariance, at the present mean, as if it were answered.
    void expect(const ArmComparison& seen, double mass);

    i64 block() const { return block_; }
    i64 slots() const { return static_cast<i64>(arm_in_.size()); }
    i64 size() const { return dim + slots(); }
    i64 slot_of(i64 arm) const { return known(arm) ? effects_[arm].slot : -1; }
    double mean_of(i64 arm) const { return known(arm) ? effects_[arm].mean : 0.0; }
    // Of an arm's own term.
    double variance_of(i64 arm) const;
    // A line of the covariance: first theta, then the arms of the block.
    const double* line(i64 k) const { return covariance_.data() + k * stride_; }
    const double* line_of_slot(i64 slot) const { return line(dim + slot); }

    // -- to be written down and read again
    struct ArmEffect {
        double mean, variance;  // the variance is that of an arm outside of the block
        i64 slot;
    };
    const std::vector<ArmEffect>& effects() const { return effects_; }
    const std::vector<i64>& arms_in_block() const { return arm_in_; }
    const std::vector<i64>& last_uses() const { return last_; }
    i64 uses() const { return uses_; }
    void restore(std::vector<ArmEffect> effects, std::vector<i64> arms_in_block, std::vector<i64> last_uses, i64 uses,
                 const std::vector<double>& lower_half);

private:
    i64 block_, stride_ = 0;
    i64 uses_ = 0;                    // two a vote: the first arm, then the second
    std::vector<ArmEffect> effects_;  // by the arm's number
    std::vector<i64> arm_in_;         // by slot
    std::vector<i64> last_;           // when the arm of each slot was last voted on
    AlignedDoubles covariance_, reach_;

    void set_unknown_scale(const double* arms, i64 n);
    void keep(EarlyVote vote);
    void adopt_scale(const AlignedDoubles& wanted);
    void start_over();
    double prior_of(i64 feature) const;
    void change_prior(i64 feature, double variance);
    void take(const ArmComparison& seen, double outcome, double mass);
    void subtract_square(double sign);
    bool known(i64 arm) const { return arm < static_cast<i64>(effects_.size()); }
    void grow(i64 slots);
    void bring_in(i64 arm, i64 partner);
    i64 place_for(i64 arm, i64 partner);
    double follow(const ArmComparison& seen);
    void shrink(double factor);
};

}  // namespace duelist
