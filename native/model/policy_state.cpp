#include "model/policy_state.hpp"

namespace duelist {

Layer::Layer(i64 dim, double ridge, double prior, double radius, const Numbers& sizes)
    : ridge(ridge), prior(prior), radius(radius), theta(dim), factor(dim * dim), curvature(dim * dim),
      rows(std::make_shared<Rows>(dim)) {
    for (i64 k = 0; k < dim; k++) {
        factor[k * dim + k] = std::sqrt(prior * sizes[k]);
        curvature[k * dim + k] = std::sqrt(ridge * sizes[k]);
    }
}

namespace {

// R'R + diag(added), factored, in the place of R; false, and R as it was, where rounding has left nothing to factor.
bool add_to_diagonal(Numbers& factor, i64 dim, const Numbers& added) {
    Numbers whole(dim * dim);
    for (i64 i = 0; i < dim; i++)
        for (i64 j = i; j < dim; j++) {
            double total = i == j ? added[i] : 0.0;
            for (i64 k = 0; k <= i; k++) total += factor[k * dim + i] * factor[k * dim + j];
            whole[i * dim + j] = total;
        }
    if (!kernels->cholesky(whole.data(), dim)) return false;
    factor = std::move(whole);
    return true;
}

// Whether there is nothing but the ridge in the row and the column of feature k.
bool is_alone(const Numbers& factor, i64 dim, i64 k, double ridge) {
    for (i64 i = 0; i < k; i++)
        if (factor[i * dim + k] != 0.0) return false;
    for (i64 j = k + 1; j < dim; j++)
        if (factor[k * dim + j] != 0.0) return false;
    return factor[k * dim + k] == std::sqrt(ridge);
}

}  // namespace

void State::meet(const double* arms, i64 n, SolverRoom& room) {
    Numbers wanted;
    if (sizes.any_unknown() && !has_learned() && sizes.meet(arms, n, dim, wanted)) resize(wanted, room);
}

void State::adopt(const Seen& seen, SolverRoom& room) {
    if (!seen.unlike) return;
    sizes.believe(seen, dim);
    resize(seen.squared, room);
}

bool State::has_learned() const {
    return std::any_of(layers.begin(), layers.end(), [](const Layer& at) { return at.learned > 0.0; });
}

void State::resize(const Numbers& squared, SolverRoom& room) {
    Numbers before = sizes.squared;
    sizes.squared = squared;
    if (std::exchange(sizes.found_kind, false) && online && has_first_votes) {
        for (Layer& at : layers) begin_anew(at, room);
        return;
    }
    std::vector<Layer> kept = online ? layers : std::vector<Layer>();
    if (resize_layers(before, room)) return;
    layers = std::move(kept);  // rounding leaves nothing of a ridge that becomes so much smaller: those stay as they were
    for (i64 k = 0; k < dim; k++) {
        bool told = std::any_of(layers.begin(), layers.end(), [&](const Layer& at) { return is_told(at, k, before[k]); });
        if (told) sizes.squared[k] = std::max(squared[k], before[k]);
    }
    resize_layers(before, room);
}

// Whether a vote has told of a feature of this size. The one-pass estimator has no votes: what rounding has left of them tells.
bool State::is_told(const Layer& at, i64 k, double size) const {
    if (online) return !is_alone(at.factor, dim, k, at.prior * size) || !is_alone(at.curvature, dim, k, at.ridge * size);
    for (i64 row = 0; row < at.rows->count(); row++)
        if (at.rows->entry(row, k) != 0.0) return true;
    return false;
}

bool State::resize_layers(const Numbers& before, SolverRoom& room) {
    for (i64 number = 0; number < n_layers(); number++) {
        if (!resize_untold(layer(number), before)) continue;
        if (!online)
            resize_rows(number, room);
        else if (!resize_summary(layer(number), before, room))
            return false;
    }
    return true;
}

// Ridge and prior of features of which no vote has told, in which nothing else is to be made anew; whether others are to be resized, too.
bool State::resize_untold(Layer& at, const Numbers& before) const {
    bool others = false;
    for (i64 k = 0; k < dim; k++) {
        if (sizes.squared[k] == before[k]) continue;
        if (is_told(at, k, before[k])) {
            others = true;
            continue;
        }
        at.factor[k * dim + k] = std::sqrt(at.prior * sizes.squared[k]);
        at.curvature[k * dim + k] = std::sqrt(at.ridge * sizes.squared[k]);
        at.stale = at.learned > 0.0;
    }
    return others;
}

// The first few votes, which the one-pass estimator still has, once more, in other sizes.
void State::begin_anew(Layer& at, SolverRoom& room) {
    room.fit(dim, 0);
    Layer fresh(dim, at.ridge, at.prior, at.radius, sizes.squared);
    at.theta = std::move(fresh.theta);
    at.factor = std::move(fresh.factor);
    at.curvature = std::move(fresh.curvature);
    at.residual = 0.0;
    at.stale = at.learned > 0.0;
    Numbers z(dim);
    for (i64 row = 0; row < at.rows->count(); row++) {
        for (i64 k = 0; k < dim; k++) z[k] = at.rows->entry(row, k);
        take(at, {z.data(), at.rows->mass()[row], at.rows->wins()[row]}, room);
    }
}

// One outcome into the estimate, its precision and its curvature. A pair out of all proportion counts for less in the precision, and where its
// curvature stays what it was at once, there, too.
void State::take(Layer& at, const Evidence& given, SolverRoom& room) const {
    double counts = sizes.counts(given.z, dim), part = online ? counts : 1.0;
    double mass = part * given.mass, wins = part * given.wins;
    if (online && mass == 0.0) return;  // so far off that it counts for nothing
    double margin = move_with(at.theta.data(), at.curvature.data(), dim, given.z, mass, wins, link, online ? TO_ROUNDING : GUESS, room);
    kernels->cholesky_update_both(at.factor.data(), counts * given.mass, at.curvature.data(), mass * slope(link, margin), dim, given.z,
                                  room.step.data(), room.trial.data());
    if (!online) return;
    double p = mean(link, keep_within(at.theta.data(), at.curvature.data(), dim, given.z, bound, margin));
    at.residual += wins * (1.0 - p) * (1.0 - p) + (mass - wins) * p * p;
}

// The quadratic that stands for the outcomes keeps its minimum; only the ridge under it changes. False: rounding has left nothing of it.
bool State::resize_summary(Layer& at, const Numbers& before, SolverRoom& room) {
    room.fit(dim, 0);
    Numbers added(dim);
    auto add = [&](Numbers& factor, double multiple) {
        for (i64 k = 0; k < dim; k++) {
            bool is_done = is_alone(factor, dim, k, multiple * sizes.squared[k]);
            added[k] = is_done ? 0.0 : multiple * (sizes.squared[k] - before[k]);
        }
        return add_to_diagonal(factor, dim, added);
    };
    if (!add(at.factor, at.prior)) return false;
    kernels->multiply(at.curvature.data(), dim, at.theta.data(), room.step.data());
    if (!add(at.curvature, at.ridge)) return false;
    kernels->solve_lower(at.curvature.data(), dim, room.step.data());
    kernels->solve_upper(at.curvature.data(), dim, room.step.data());
    std::copy_n(room.step.data(), dim, at.theta.data());
    at.stale = at.learned > 0.0;
    return true;
}

void State::resize_rows(i64 number, SolverRoom& room) {
    Layer& at = layer(number);
    Problem p = problem(number);
    room.fit(dim, p.n);
    auto factored = [&](const double* weights, double multiple, Numbers& out) {
        Numbers whole(dim * dim);
        p.ridge = {multiple, sizes.squared.data()};
        if (factor_curvature(p, weights, room, whole.data())) out = std::move(whole);
    };
    Numbers counted(p.n);
    for (i64 s = 0; s < p.n; s++) counted[s] = p.mass[s] * sizes.counts(p.z + s, dim, p.stride);
    factored(counted.data(), at.prior, at.factor);
    kernels->margins(p.z, p.stride, dim, at.theta.data(), p.n, room.margins.data());
    p.residuals(room.margins.data(), room.residual.data(), room.slopes.data());
    factored(room.slopes.data(), at.ridge, at.curvature);
    at.stale = at.learned > 0.0;  // what has learned nothing keeps the radius it was given
    if (at.stale) at.solved = Solved::outdated;
}

Learned State::learn(i64 number, const Observation& seen, double share, double weight, SolverRoom& room) {
    room.fit(dim, 0);
    Evidence given{};
    if (!seen.evidence(dim, share * weight, room.shift.data(), given)) return Learned::nothing;
    Numbers wanted;
    bool other_sizes = sizes.notice(given.z, dim, weight, wanted);
    if (other_sizes) resize(wanted, room);
    Layer& at = layer(number);
    take(at, given, room);
    if (!online) at.solved = Solved::outdated;
    if (!online || (sizes.early() && has_first_votes)) keep(at, given);
    if (online && at.rows->count() > Sizes::MOST_FIRST_VOTES) has_first_votes = false;
    if (online && !(sizes.early() && has_first_votes)) forget_first_votes();
    at.learned += weight;
    at.stamp = rounds;
    at.stale = true;
    return other_sizes ? Learned::in_all_layers : Learned::in_its_layer;
}

void State::keep(Layer& at, const Evidence& given) {
    if (at.rows.use_count() > 1) at.rows = std::make_shared<Rows>(*at.rows);
    at.rows->add(given.z, given.mass, given.wins);
}

void State::forget_first_votes() {
    for (Layer& at : layers)
        if (at.rows->count() > 0) at.rows = std::make_shared<Rows>(dim);
}

void State::expect(i64 number, const double* difference, double share, SolverRoom& room) {
    room.fit(dim, 0);
    Layer& at = layer(number);
    double expected = share * slope(link, kernels->dot(difference, at.theta.data(), dim));
    kernels->cholesky_update_both(at.factor.data(), share * sizes.counts(difference, dim), at.curvature.data(), expected, dim,
                                  difference, room.step.data(), room.trial.data());
}

const double* State::theta(i64 number, SolverRoom& room) {
    Layer& at = layer(number);
    if (at.solved == Solved::outdated && !online) {
        Status status = refine(problem(number), at.theta.data(), at.curvature.data(), room);
        if (status == Status::out_of_iterations) {  // guesses upon guesses led far astray: from where nothing is known
            Layer fresh(dim, at.ridge, at.prior, at.radius, sizes.squared);
            at.theta = std::move(fresh.theta);
            at.curvature = std::move(fresh.curvature);
            status = refine(problem(number), at.theta.data(), at.curvature.data(), room);
        }
        at.solved = status == Status::out_of_iterations ? Solved::unfinished : Solved::yes;
    }
    return at.theta.data();
}

const double* State::local_curvature(i64 number, SolverRoom& room) {
    theta(number, room);
    Layer& at = layer(number);
    if (at.stale) {
        at.stale = false;
        if (!online && dim <= DIRECT) {
            Problem p = problem(number);
            room.fit(dim, p.n);
            kernels->margins(p.z, p.stride, dim, at.theta.data(), p.n, room.margins.data());
            if (link == Link::logistic)
                kernels->logistic_model(p.mass, p.wins, room.margins.data(), p.n, room.residual.data(),
                                        room.slopes.data(), room.bends.data());
            else
                p.residuals(room.margins.data(), room.residual.data(), room.slopes.data());
            factor_curvature(p, room.slopes.data(), room, at.curvature.data());
        }
    }
    return at.curvature.data();
}

double State::width(i64 number, const double* z, SolverRoom& room) const {
    room.fit(dim, 0);
    double* v = room.direction.data();
    for (i64 k = 0; k < dim; k++) v[k] = z[k];
    kernels->solve_lower(layer(number).factor.data(), dim, v);
    return std::sqrt(kernels->dot(v, v, dim));
}

Problem State::problem(i64 number) const {
    const Layer& at = layer(number);
    const Rows& rows = *at.rows;
    return {rows.z(), rows.stride(), dim, rows.mass(), rows.wins(), rows.padded_count(), {at.ridge, sizes.squared.data()}, link};
}

}  // namespace duelist
