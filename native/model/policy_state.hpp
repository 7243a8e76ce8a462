// What a policy knows: estimators in layers, a generator, counts. Python holds it as one opaque object.
//
// Policies without layers have one estimator. Each keeps the upper factor R of its precision Sigma = R'R, its estimate theta, the
// upper factor of the curvature H that theta was found with (`tracking.hpp`), and its data, of which the one-pass
// estimator keeps the first few for a while.
#pragma once

#include <memory>
#include <vector>

#include "model/aggregated_votes.hpp"
#include "model/comparison.hpp"
#include "model/feature_scale.hpp"
#include "model/incremental_fit.hpp"

namespace duelist {

inline constexpr i64 MAX_ROUNDS = i64{1} << 53;  // beyond them, counts are no longer exact as doubles

enum class FitStatus : i64 {
    yes,
    outdated,
    unfinished
};  // unfinished: the solver gave up, and goes on with the next outcome

enum class UpdateScope { nothing, one_layer, all_layers };  // all: features have other sizes than was thought

struct Layer {
    double ridge = 1.0;     // of the estimate, in multiples of the squared size of each feature
    double prior = 1.0;     // precision before the first outcome, in the same multiples
    double radius = 0.0;    // for policies whose radius belongs to the estimate
    double learned = 0.0;   // duels learned from, each counted with its weight
    double residual = 0.0;  // sum of w^2 (o - mu)^2 as the one-pass estimator met them
    FitStatus fit_status = FitStatus::yes;
    bool stale = false;  // the data have moved on since the radius, or the local curvature, was computed
    i64 stamp = 0;       // round of the last update
    AlignedDoubles theta, factor, curvature;
    std::shared_ptr<AggregatedVotes>
        rows;  // of the one-pass estimator the first few; shared by copies of a state until one of them learns

    Layer(i64 dim, double ridge, double prior, double radius, const AlignedDoubles& scale);
};

struct PolicyState {
    i64 dim;
    Link link;
    bool online;
    Sfc64 random;
    i64 rounds = 0;      // duels asked
    double kappa = 1.0;  // smallest slope of the link
    double units = 1.0;  // squared size of a feature, which practical priors are multiples of
    double bound = INF;  // what |theta| is kept within by the one-pass estimator
    double base_ridge = 1.0,
           base_prior = 1.0;  // what the ridge and the prior precision of every layer are multiples of
    bool has_all_early_votes =
        true;  // whether the rows of the one-pass estimator are all it has learned, while sizes are early
    FeatureScale scale;
    std::vector<Layer> layers;

    PolicyState(i64 dim, Link link, bool online) : dim(dim), link(link), online(online), scale(dim) {}

    i64 n_layers() const { return static_cast<i64>(layers.size()); }
    Layer& layer(i64 number) { return layers[static_cast<std::size_t>(number)]; }
    const Layer& layer(i64 number) const { return layers[static_cast<std::size_t>(number)]; }
    void add_layer(double ridge, double prior, double radius) {
        layers.emplace_back(dim, ridge, prior, radius, scale.squared);
    }

    // One outcome into one estimator; what it changed. `share` is the policy's w^2, `weight` the caller's.
    // A self-duel carries no information and changes nothing.
    UpdateScope learn(i64 layer, const PairOutcome& seen, double share, double weight, SolverWorkspace& workspace);

    // A duel that is out counts in the precision and the curvature, at the present estimate, as if it were answered.
    void expect(i64 layer, const double* difference, double share, SolverWorkspace& workspace);

    // The up-to-date estimate of a layer.
    const double* theta(i64 layer, SolverWorkspace& workspace);

    // The upper factor of the curvature at the present estimate, made anew where data came in since.
    //
    // The one-pass estimator keeps its own. Above DIRECT dimensions, where a factorisation is too dear for a round, it stays
    // the one kept by rank-one updates, each with the slope at the estimate of its round.
    const double* local_curvature(i64 layer, SolverWorkspace& workspace);

    // The arms of a round, before anything is learned: they give features a size that have none.
    void meet(const double* arms, i64 n, SolverWorkspace& workspace);

    // The sizes of these arms, if they show that the present ones are not theirs: for a copy that decides one round, since what is known is a
    // function of votes alone.
    void adopt(const RoundScale& seen, SolverWorkspace& workspace);

    // Other sizes of features: ridge and prior change with them, and what follows from the data is made anew.
    void rescale(const AlignedDoubles& squared, SolverWorkspace& workspace);

    double width(i64 layer, const double* z, SolverWorkspace& workspace) const;
    GlmProblem problem(i64 layer) const;

    bool has_learned() const;

private:
    void refit_early_votes(Layer& at, SolverWorkspace& workspace);
    void take(Layer& at, const LikelihoodTerm& given, SolverWorkspace& workspace) const;
    void keep(Layer& at, const LikelihoodTerm& given);
    void discard_early_votes();
    bool is_informed(const Layer& at, i64 k, double size) const;
    bool rescale_uninformed(Layer& at, const AlignedDoubles& before) const;
    bool rescale_layers(const AlignedDoubles& before, SolverWorkspace& workspace);
    bool rescale_summary(Layer& at, const AlignedDoubles& before, SolverWorkspace& workspace);
    void rescale_votes(i64 layer, SolverWorkspace& workspace);
};

}  // namespace duelist
