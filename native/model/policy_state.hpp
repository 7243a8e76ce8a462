// What a policy knows: estimators in layers, a generator, counts. Python holds it as one opaque object.
//
// Policies without layers have one estimator. Each keeps the upper factor R of its precision Sigma = R'R, its estimate theta, the
// upper factor of the curvature H that theta was found with (`tracking.hpp`), and its data, of which the one-pass
// estimator keeps the first few for a while.
#pragma once

#include <memory>
#include <vector>

#include "model/comparison.hpp"
#include "model/aggregated_votes.hpp"
#include "model/feature_scale.hpp"
#include "model/incremental_fit.hpp"

namespace duelist {

inline constexpr i64 MOST_ROUNDS = i64{1} << 53;  // beyond them, counts are no longer exact as doubles

enum class Solved : i64 { yes, outdated, unfinished };  // unfinished: the solver gave up, and goes on with the next outcome

enum class Learned { nothing, in_its_layer, in_all_layers };  // all: features have other sizes than was thought

struct Layer {
    double ridge = 1.0;     // of the estimate, in multiples of the squared size of each feature
    double prior = 1.0;     // precision before the first outcome, in the same multiples
    double radius = 0.0;    // for policies whose radius belongs to the estimate
    double learned = 0.0;   // duels learned from, each counted with its weight
    double residual = 0.0;  // sum of w^2 (o - mu)^2 as the one-pass estimator met them
    Solved solved = Solved::yes;
    bool stale = false;  // the data have moved on since the radius, or the local curvature, was computed
    i64 stamp = 0;       // round of the last update
    Numbers theta, factor, curvature;
    std::shared_ptr<Rows> rows;  // of the one-pass estimator the first few; shared by copies of a state until one of them learns

    Layer(i64 dim, double ridge, double prior, double radius, const Numbers& sizes);
};

struct State {
    i64 dim;
    Link link;
    bool online;
    Random random;
    i64 rounds = 0;      // duels asked
    double kappa = 1.0;  // smallest slope of the link
    double units = 1.0;  // squared size of a feature, which practical priors are multiples of
    double bound = INF;  // what |theta| is kept within by the one-pass estimator
    double base_ridge = 1.0, base_prior = 1.0;  // what the ridge and the prior precision of every layer are multiples of
    bool has_first_votes = true;  // whether the rows of the one-pass estimator are all it has learned, while sizes are early
    Sizes sizes;
    std::vector<Layer> layers;

    State(i64 dim, Link link, bool online) : dim(dim), link(link), online(online), sizes(dim) {}

    i64 n_layers() const { return static_cast<i64>(layers.size()); }
    Layer& layer(i64 number) { return layers[static_cast<std::size_t>(number)]; }
    const Layer& layer(i64 number) const { return layers[static_cast<std::size_t>(number)]; }
    void add_layer(double ridge, double prior, double radius) { layers.emplace_back(dim, ridge, prior, radius, sizes.squared); }

    // One outcome into one estimator; what it changed. `share` is the policy's w^2, `weight` the caller's.
    // A self-duel carries no information and changes nothing.
    Learned learn(i64 layer, const Observation& seen, double share, double weight, SolverRoom& room);

    // A duel that is out counts in the precision and the curvature, at the present estimate, as if it were answered.
    void expect(i64 layer, const double* difference, double share, SolverRoom& room);

    // The up-to-date estimate of a layer.
    const double* theta(i64 layer, SolverRoom& room);

    // The upper factor of the curvature at the present estimate, made anew where data came in since.
    //
    // The one-pass estimator keeps its own. Above DIRECT dimensions, where a factorisation is too dear for a round, it stays
    // the one kept by rank-one updates, each with the slope at the estimate of its round.
    const double* local_curvature(i64 layer, SolverRoom& room);

    // The arms of a round, before anything is learned: they give features a size that have none.
    void meet(const double* arms, i64 n, SolverRoom& room);

    // The sizes of these arms, if they show that the present ones are not theirs: for a copy that decides one round, since what is known is a
    // function of votes alone.
    void adopt(const Seen& seen, SolverRoom& room);

    // Other sizes of features: ridge and prior change with them, and what follows from the data is made anew.
    void resize(const Numbers& squared, SolverRoom& room);

    double width(i64 layer, const double* z, SolverRoom& room) const;
    Problem problem(i64 layer) const;

    bool has_learned() const;

private:
    void begin_anew(Layer& at, SolverRoom& room);
    void take(Layer& at, const Evidence& given, SolverRoom& room) const;
    void keep(Layer& at, const Evidence& given);
    void forget_first_votes();
    bool is_told(const Layer& at, i64 k, double size) const;
    bool resize_untold(Layer& at, const Numbers& before) const;
    bool resize_layers(const Numbers& before, SolverRoom& room);
    bool resize_summary(Layer& at, const Numbers& before, SolverRoom& room);
    void resize_rows(i64 layer, SolverRoom& room);
};

}  // namespace duelist
