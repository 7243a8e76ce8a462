// Simulated runs, a block of rounds at a time. Python divides the runs among threads, which do not hold the lock.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "engine/delayed_votes.hpp"

namespace duelist {

namespace {

template <class T>
using Cells = AlignedArray<T, nb::ndim<2>>;
using Counts = AlignedArray<const i64, nb::ndim<2>>;

// The runs of a policy with features. A run with delayed votes creates its live policy in the first block.
struct SimulatedRuns {
    std::shared_ptr<SelectionRule> rule;
    std::vector<PolicyState> states;
    std::vector<std::shared_ptr<DelayedRun<DelayedPolicyRun>>> delayed;

    i64 size() const { return static_cast<i64>(states.size()); }
    bool accepts(i64 run, const RoundInputs& rounds) const { return states[run].dim == rounds.dim; }
    bool play_one(const RoundBlock& block, Workspace& workspace, i64 run) {
        if (block.vote_model.delay == 0) return play(*rule, states[run], workspace, block, run);
        auto& own = delayed[run];
        if (!own) own.reset(new DelayedRun<DelayedPolicyRun>{DelayedPolicyRun(rule, states[run]), {}});
        return play_delayed(*own, block, run);
    }
};

// The runs of a policy that counts wins and ignores features.
struct SimulatedCountingRuns {
    std::shared_ptr<CountingRule> rule;
    std::vector<CountingState> states;
    std::vector<std::shared_ptr<DelayedRun<DelayedCountingRun>>> delayed;

    i64 size() const { return static_cast<i64>(states.size()); }
    bool accepts(i64, const RoundInputs& rounds) const { return rounds.n_arms <= MAX_COUNTING_ARMS; }
    bool play_one(const RoundBlock& block, Workspace&, i64 run) {
        if (block.vote_model.delay == 0) return play(*rule, states[run], block, run);
        auto& own = delayed[run];
        if (!own) own.reset(new DelayedRun<DelayedCountingRun>{DelayedCountingRun(rule, states[run]), {}});
        return play_delayed(*own, block, run);
    }
};

RoundInputs round_inputs(const Tensor4& arms, const Counts& counts, const Tensor3& utilities, i64 n_runs, i64 length) {
    RoundInputs rounds{arms.data(),    counts.data(),       utilities.data(), arms.extent(0),
                       arms.extent(1), utilities.extent(0), arms.extent(2),   arms.extent(3)};
    auto broadcasts = [](i64 extent, i64 full) { return extent == 1 || extent == full; };
    require(broadcasts(rounds.arm_runs, n_runs) && broadcasts(rounds.utility_runs, n_runs) &&
                broadcasts(rounds.arm_rounds, length),
            "The arms do not match the runs.");
    require(counts.extent(0) == rounds.arm_runs && counts.extent(1) == rounds.arm_rounds &&
                utilities.extent(1) == rounds.arm_rounds && utilities.extent(2) == rounds.n_arms,
            "The counts or the utilities do not match the arms.");
    for (i64 count : counts.span())
        require(count >= 1 && count <= rounds.n_arms, "A round has an invalid number of arms.");
    return rounds;
}

template <class AnyRuns>
void play_runs(AnyRuns& runs, i64 start, i64 stop, const VoteModel& vote_model, Tensor4 arms, Counts counts,
               Tensor3 utilities, Matrix uniforms, bool distinct, i64 first_round, Cells<std::int32_t> first,
               Cells<std::int32_t> second, Cells<std::int8_t> layer, Cells<std::uint8_t> outcome,
               Cells<double> first_gap, Cells<double> second_gap) {
    i64 n_runs = runs.size(), length = uniforms.extent(1), horizon = first.extent(1);
    require(0 <= start && start <= stop && stop <= n_runs && uniforms.extent(0) == n_runs,
            "The range of runs is invalid.");
    RoundInputs rounds = round_inputs(arms, counts, utilities, n_runs, length);
    require(vote_model.probabilities.empty() || vote_model.n_probabilities == rounds.n_arms,
            "The table of probabilities does not match the arms.");
    require(first_round >= 0 && first_round <= horizon - length, "The rounds do not fit into the log.");
    auto fits = [&](const auto& cells) { return cells.extent(0) == n_runs && cells.extent(1) == horizon; };
    require(fits(first) && fits(second) && fits(layer) && fits(outcome) && fits(first_gap) && fits(second_gap),
            "The arrays of the log must have the shape (runs, horizon).");
    for (i64 run = start; run < stop; run++) require(runs.accepts(run, rounds), "The arms do not match the policy.");
    RunLog log{first.data(),     second.data(),     layer.data(), outcome.data(),
               first_gap.data(), second_gap.data(), horizon,      first_round};
    RoundBlock block{vote_model, rounds, uniforms.data(), length, distinct, log};
    bool complete = true;
    {
        nb::gil_scoped_release release;
        Workspace workspace;
        for (i64 run = start; run < stop && complete; run++) complete = runs.play_one(block, workspace, run);
    }
    require(complete, "A round has no allowed pair.");
}

template <class AnyRuns>
void bind_play(nb::class_<AnyRuns>& cls) {
    cls.def("play", &play_runs<AnyRuns>, "start"_a, "stop"_a, "vote_model"_a, "arms"_a, "counts"_a, "utilities"_a,
            "uniforms"_a, "distinct"_a, "first_round"_a, "first"_a, "second"_a, "layer"_a, "outcome"_a, "first_gap"_a,
            "second_gap"_a);
}

}  // namespace

void bind_simulation(nb::module_& m) {
    nb::class_<VoteModel>(m, "VoteModel", "How the outcomes of simulated votes are drawn.")
        .def(
            "__init__",
            [](VoteModel* self, const std::string& link, bool noiseless, Matrix probabilities, i64 flip_first,
               double flip_probability, i64 delay) {
                require(delay >= 0, "The delay is negative.");
                require(probabilities.size() == 0 || probabilities.extent(0) == probabilities.extent(1),
                        "The table of probabilities is not square.");
                auto table = probabilities.span();
                new (self) VoteModel{
                    link_from_name(link), noiseless, {table.begin(), table.end()}, probabilities.extent(0), flip_first,
                    flip_probability,     delay};
            },
            "link"_a, "noiseless"_a, "probabilities"_a, "flip_first"_a, "flip_probability"_a, "delay"_a = 0)
        .def(
            "vote_probability",
            [](const VoteModel& self, Vector utilities, i64 first, i64 second, i64 t) {
                i64 n = utilities.extent(0);
                require(first >= 0 && first < n && second >= 0 && second < n, "An arm has an invalid position.");
                require(self.probabilities.empty() || self.n_probabilities >= n,
                        "The table of probabilities does not match the arms.");
                return self.vote_probability(utilities.data(), first, second, t);
            },
            "utilities"_a, "first"_a, "second"_a, "t"_a);
    nb::class_<SimulatedRuns> runs(m, "SimulatedRuns", "Simulated runs of a policy that uses features.");
    runs.def(
        "__init__",
        [](SimulatedRuns* self, std::shared_ptr<SelectionRule> rule, const std::vector<const PolicyState*>& states) {
            require(rule && std::find(states.begin(), states.end(), nullptr) == states.end(),
                    "The rule or a state is missing.");
            new (self) SimulatedRuns{std::move(rule), {}, {}};
            for (const PolicyState* state : states) self->states.push_back(*state);
            self->delayed.resize(states.size());
        },
        "rule"_a, "states"_a);
    bind_play(runs);
    nb::class_<SimulatedCountingRuns> counting_runs(m, "SimulatedCountingRuns",
                                                    "Simulated runs of a policy that counts wins.");
    counting_runs.def(
        "__init__",
        [](SimulatedCountingRuns* self, std::shared_ptr<CountingRule> rule, const std::vector<Words>& words) {
            require(rule != nullptr, "The rule is missing.");
            new (self) SimulatedCountingRuns{std::move(rule), std::vector<CountingState>(words.size()), {}};
            self->delayed.resize(words.size());
            for (std::size_t run = 0; run < words.size(); run++) self->states[run].random = generator(words[run]);
        },
        "rule"_a, "words"_a);
    bind_play(counting_runs);
}

}  // namespace duelist
