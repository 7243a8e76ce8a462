// Simulated runs, a stretch of rounds at a time; threads of Python share the runs out, and none of them holds the others up.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "engine/delayed_votes.hpp"

namespace duelist {

namespace {

template <class T>
using Cells = Aligned<T, nb::ndim<2>>;
using Arms = Aligned<const double, nb::ndim<4>>;
using Counts = Aligned<const i64, nb::ndim<2>>;

void check(bool good, const char* what) {
    if (!good) throw std::invalid_argument(what);
}

// The runs of one policy: a rule and a state each.
struct SimulatedRuns {
    std::shared_ptr<SelectionRule> rule;
    std::vector<PolicyState> states;
    std::vector<std::shared_ptr<DelayedRun<DelayedPolicyRun>>>
        delayed;  // of those whose votes come late, which a thread makes for itself

    i64 size() const { return static_cast<i64>(states.size()); }
    bool takes(i64 run, const RoundInputs& rounds) const {
        return states[static_cast<std::size_t>(run)].dim == rounds.dim;
    }
    bool play_one(const RoundBlock& block, Workspace& workspace, i64 run) {
        PolicyState& state = states[static_cast<std::size_t>(run)];
        if (block.vote_model.delay == 0) return play(*rule, state, workspace, block, run);
        auto& own = delayed[static_cast<std::size_t>(run)];
        if (!own) own.reset(new DelayedRun<DelayedPolicyRun>{DelayedPolicyRun(rule, state), {}});
        return play_delayed(*own, block, run);
    }
};

// The same of a policy that counts wins, to which features are nothing.
struct SimulatedCountingRuns {
    std::shared_ptr<CountingRule> rule;
    std::vector<CountingState> states;
    std::vector<std::shared_ptr<DelayedRun<DelayedCountingRun>>> delayed;

    i64 size() const { return static_cast<i64>(states.size()); }
    bool takes(i64, const RoundInputs& rounds) const { return rounds.n_arms <= MAX_COUNTING_ARMS; }
    bool play_one(const RoundBlock& block, Workspace&, i64 run) {
        CountingState& state = states[static_cast<std::size_t>(run)];
        if (block.vote_model.delay == 0) return play(*rule, state, block, run);
        auto& own = delayed[static_cast<std::size_t>(run)];
        if (!own) own.reset(new DelayedRun<DelayedCountingRun>{DelayedCountingRun(rule, state), {}});
        return play_delayed(*own, block, run);
    }
};

template <class AnyRuns>
void play_runs(AnyRuns& runs, i64 start, i64 stop, const VoteModel& vote_model, Arms arms, Counts counts,
               Cube utilities, Matrix uniforms, bool distinct, i64 from, Cells<std::int32_t> first,
               Cells<std::int32_t> second, Cells<std::int8_t> layer, Cells<std::uint8_t> outcome,
               Cells<double> first_gap, Cells<double> second_gap) {
    i64 n_runs = runs.size();
    RoundInputs rounds{arms.data(),
                       counts.data(),
                       utilities.data(),
                       static_cast<i64>(arms.shape(0)),
                       static_cast<i64>(arms.shape(1)),
                       static_cast<i64>(utilities.shape(0)),
                       static_cast<i64>(arms.shape(2)),
                       static_cast<i64>(arms.shape(3))};
    i64 length = static_cast<i64>(uniforms.shape(1)), horizon = static_cast<i64>(first.shape(1));
    auto one_or = [](i64 size, i64 all) { return size == 1 || size == all; };
    check(0 <= start && start <= stop && stop <= n_runs && static_cast<i64>(uniforms.shape(0)) == n_runs,
          "runs do not fit");
    check(one_or(rounds.arm_runs, n_runs) && one_or(rounds.utility_runs, n_runs) && one_or(rounds.arm_rounds, length),
          "arms do not fit the runs");
    check(counts.shape(0) == arms.shape(0) && counts.shape(1) == arms.shape(1) && utilities.shape(1) == arms.shape(1) &&
              utilities.shape(2) == arms.shape(2),
          "utilities do not fit the arms");
    for (std::size_t k = 0; k < counts.size(); k++)
        check(counts.data()[k] >= 1 && counts.data()[k] <= rounds.n_arms, "a round has no arms");
    check(!vote_model.table || vote_model.table_size == rounds.n_arms, "the table of chances does not fit the arms");
    check(from >= 0 && from <= horizon - length, "rounds do not fit the log");
    auto fits = [&](const auto& cells) {
        return static_cast<i64>(cells.shape(0)) == n_runs && static_cast<i64>(cells.shape(1)) == horizon;
    };
    check(fits(first) && fits(second) && fits(layer) && fits(outcome) && fits(first_gap) && fits(second_gap),
          "the log does not fit the runs");
    for (i64 run = start; run < stop; run++) check(runs.takes(run, rounds), "arms do not fit the policy");
    RunLog log{first.data(),     second.data(),     layer.data(), outcome.data(),
               first_gap.data(), second_gap.data(), horizon,      from};
    RoundBlock block{vote_model, rounds, uniforms.data(), length, distinct, log};
    bool complete = true;
    {
        nb::gil_scoped_release others_go_on;
        Workspace workspace;
        for (i64 run = start; run < stop && complete; run++) complete = runs.play_one(block, workspace, run);
    }
    check(complete, "a round had no pair to ask");
}

// A truth, and the table it reads.
struct OwnedVoteModel {
    VoteModel vote_model;
    std::vector<double> table;
};

template <class AnyRuns>
void play_all(AnyRuns& runs, i64 start, i64 stop, const OwnedVoteModel& vote_model, Arms arms, Counts counts,
              Cube utilities, Matrix uniforms, bool distinct, i64 from, Cells<std::int32_t> first,
              Cells<std::int32_t> second, Cells<std::int8_t> layer, Cells<std::uint8_t> outcome,
              Cells<double> first_gap, Cells<double> second_gap) {
    play_runs(runs, start, stop, vote_model.vote_model, arms, counts, utilities, uniforms, distinct, from, first,
              second, layer, outcome, first_gap, second_gap);
}

}  // namespace

void bind_simulation(nb::module_& m) {
    nb::class_<OwnedVoteModel>(m, "Truth")
        .def(
            "__init__",
            [](OwnedVoteModel* self, const std::string& link, bool noiseless, Matrix table, i64 flipped_first,
               double flip_chance, i64 delay) {
                check(delay >= 0, "a delay is negative");
                new (self) OwnedVoteModel{
                    {link_from_name(link), noiseless, nullptr, 0, flipped_first, flip_chance, delay}, {}};
                if (table.size() == 0) return;
                check(table.shape(0) == table.shape(1), "the table of chances is not square");
                self->table.assign(table.data(), table.data() + table.size());
                self->vote_model.table = self->table.data();
                self->vote_model.table_size = static_cast<i64>(table.shape(0));
            },
            "link"_a, "noiseless"_a, "table"_a, "flipped_first"_a, "flip_chance"_a, "delay"_a = 0)
        .def(
            "vote_chance",
            [](const OwnedVoteModel& self, Vector utilities, i64 first, i64 second, i64 t) {
                i64 n = static_cast<i64>(utilities.shape(0));
                check(first >= 0 && first < n && second >= 0 && second < n, "the duel is not on the table");
                check(!self.vote_model.table || self.vote_model.table_size >= n,
                      "the table of chances does not fit the arms");
                return self.vote_model.vote_chance(utilities.data(), first, second, t);
            },
            "utilities"_a, "first"_a, "second"_a, "t"_a);
    nb::class_<SimulatedRuns>(m, "Runs")
        .def(
            "__init__",
            [](SimulatedRuns* self, std::shared_ptr<SelectionRule> rule,
               const std::vector<const PolicyState*>& states) {
                check(rule && std::find(states.begin(), states.end(), nullptr) == states.end(),
                      "a rule or a state is missing");
                new (self) SimulatedRuns{std::move(rule), {}, {}};
                for (const PolicyState* state : states) self->states.push_back(*state);
                self->delayed.resize(states.size());
            },
            "rule"_a, "states"_a)
        .def("play", &play_all<SimulatedRuns>, "start"_a, "stop"_a, "truth"_a, "arms"_a, "counts"_a, "utilities"_a,
             "luck"_a, "distinct"_a, "from_round"_a, "first"_a, "second"_a, "layer"_a, "outcome"_a, "first_gap"_a,
             "second_gap"_a);
    nb::class_<SimulatedCountingRuns>(m, "CountingRuns")
        .def(
            "__init__",
            [](SimulatedCountingRuns* self, std::shared_ptr<CountingRule> rule, const std::vector<Words>& seeds) {
                check(rule != nullptr, "a rule is missing");
                new (self) SimulatedCountingRuns{std::move(rule), std::vector<CountingState>(seeds.size()), {}};
                self->delayed.resize(seeds.size());
                for (std::size_t run = 0; run < seeds.size(); run++)
                    std::copy(seeds[run].data(), seeds[run].data() + 4, self->states[run].random.words.begin());
            },
            "rule"_a, "seeds"_a)
        .def("play", &play_all<SimulatedCountingRuns>, "start"_a, "stop"_a, "truth"_a, "arms"_a, "counts"_a,
             "utilities"_a, "luck"_a, "distinct"_a, "from_round"_a, "first"_a, "second"_a, "layer"_a, "outcome"_a,
             "first_gap"_a, "second_gap"_a);
    m.def(
        "utilities",
        [](Matrix arms, Vector theta) {
            i64 n = static_cast<i64>(arms.shape(0)), dim = static_cast<i64>(arms.shape(1));
            check(static_cast<i64>(theta.shape(0)) == dim, "theta does not fit the arms");
            AlignedDoubles u(padded(n));
            if (n > 0) kernels->whiten(arms.data(), nullptr, n, dim, theta.data(), nullptr, u.data(), nullptr, 0);
            return copied(u.data(), {n});
        },
        "arms"_a, "theta"_a);
}

}  // namespace duelist
