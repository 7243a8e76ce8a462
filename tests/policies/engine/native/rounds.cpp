// Runs every selection rule for a few rounds and prints checksums of duels and estimates, which must be equal on every
// machine.
//
// Uses the engine without Python, so that it can be built for an emulated machine.
#include <cstdio>
#include <cstring>

#include "engine/ask_tell.hpp"
#include "numerics/kernels.hpp"

using namespace duelist;

namespace {

class Checksum {
public:
    void add(double x) { mix(std::bit_cast<u64>(x)); }
    void add(i64 x) { mix(static_cast<u64>(x)); }
    void add(const double* numbers, i64 n) {
        for (i64 k = 0; k < n; k++) add(numbers[k]);
    }
    u64 told() const { return hash_; }

private:
    u64 hash_ = 0xCBF29CE484222325ull;
    void mix(u64 word) {  // FNV-1a, eight bytes at a time
        for (int byte = 0; byte < 8; byte++) hash_ = (hash_ ^ ((word >> (8 * byte)) & 0xFF)) * 0x100000001B3ull;
    }
};

Sfc64 seeded(u64 seed) {
    Sfc64 random;
    random.words = {seed, 2 * seed + 1, 3, 1};
    for (int k = 0; k < 12; k++) random.next_word();
    return random;
}

// The default hyperparameters of every policy.
const std::map<std::string, std::map<std::string, double>> RULES = {
    {"APO", {}},
    {"BestArmPair", {}},
    {"CoLSTIM", {{"horizon", 0.0}, {"kind", 1.0}, {"factor", 1.0}, {"delta", 0.05}, {"clip", 0.0}, {"warmup", 0.0}}},
    {"DRTS", {{"scale", 1.0}}},
    {"DeltaUCB", {{"scale", 1.0}}},
    {"DesignPair", {{"average", 1.0}}},
    {"GreedyChallenger", {{"horizon", 0.0}, {"kind", 1.0}, {"factor", 0.5}, {"delta", 0.05}}},
    {"GreedyUniform", {}},
    {"InfoMax", {{"scale", 1.0}}},
    {"LocalPairUCB", {{"horizon", 0.0}, {"kind", 1.0}, {"factor", 1.4}, {"delta", 0.05}}},
    {"MaxInP", {{"horizon", 0.0}, {"kind", 1.0}, {"factor", 1.0}, {"delta", 0.05}}},
    {"MaxMinLCB", {{"horizon", 0.0}, {"kind", 1.0}, {"factor", 1.0}, {"delta", 0.05}}},
    {"MaxPairUCB", {{"horizon", 0.0}, {"kind", 1.0}, {"factor", 1.0}, {"delta", 0.05}}},
    {"RCDB", {{"horizon", 0.0}, {"kind", 1.0}, {"factor", 1.0}, {"delta", 0.05}, {"trust", 0.0}, {"corruption", 0.0}}},
    {"RankingPair", {{"top", 0.0}}},
    {"RewardDesign", {{"coverage", 0.25}}},
    {"StaD", {{"horizon", 0.0}, {"kind", 1.0}, {"factor", 1.0}, {"delta", 0.05}}},
    {"SupCoLSTIM", {{"horizon", 0.0}, {"kind", 1.0}, {"factor", 1.0}, {"delta", 0.05}}},
    {"ThompsonPair", {{"spread", 1.0}, {"feel_good", 0.0}, {"allow_self_duel", 1.0}}},
    {"UniformPair", {}},
    {"VACDB",
     {{"horizon", 0.0},
      {"alpha", 0.0},
      {"delta", 0.05},
      {"scale", 0.0005},
      {"constant", 0.0},
      {"explore", 0.0},
      {"variance_everywhere", 1.0},
      {"first_layer", 1.0}}},
};

void play(const std::string& name, Link link, bool online, i64 n, i64 dim, i64 rounds) {
    std::unique_ptr<SelectionRule> rule = make_selection_rule(name, Hyperparameters(RULES.at(name)));
    PolicyState state(dim, link, online);
    state.random = seeded(7);
    state.kappa = 0.1;
    state.bound = 3.0;
    Sfc64 world = seeded(11);
    std::vector<double> theta(static_cast<std::size_t>(dim)), arms(static_cast<std::size_t>(n * dim));
    std::vector<double> difference(static_cast<std::size_t>(dim));
    for (double& x : theta) x = world.normal();
    Workspace workspace;
    Checksum duels, known;
    for (i64 t = 0; t < rounds; t++) {
        if (t % 5 == 0)
            for (double& x : arms) x = world.normal();
        ArmTable table{arms.data(), n, dim, t % 2 == 0};
        Decision duel = decide_round(*rule, state, workspace, table);
        duels.add(duel.first);
        duels.add(duel.second);
        duels.add(duel.layer);
        duels.add(duel.share);
        subtract(table.arm(duel.first), table.arm(duel.second), dim, difference.data());
        double margin = 0.0;
        for (i64 k = 0; k < dim; k++) margin += theta[k] * difference[k];
        double outcome = world.uniform() < mean(link, margin) ? 1.0 : 0.0;
        learn_outcome(state, workspace, duel, {difference.data(), outcome}, 1.0);
    }
    for (i64 layer = 0; layer < state.n_layers(); layer++) {
        known.add(state.theta(layer, workspace.solver), dim);
        known.add(state.layer(layer).factor.data(), dim * dim);
    }
    std::printf("%s %s %s n=%lld dim=%lld: duels %016llx known %016llx\n", name.c_str(),
                with_link(link, [](auto l) { return l.name; }), online ? "online" : "exact", static_cast<long long>(n),
                static_cast<long long>(dim), static_cast<unsigned long long>(duels.told()),
                static_cast<unsigned long long>(known.told()));
}

}  // namespace

// With an argument: use these vectors ("baseline", "avx2", "avx512"), or fail.
int main(int argc, char** argv) {
    i64 count;
    const Kernels* const* runnable = runnable_kernels(&count);
    if (argc > 1) {
        const Kernels* found = nullptr;
        for (i64 k = 0; k < count; k++)
            if (std::strcmp(runnable[k]->name, argv[1]) == 0) found = runnable[k];
        if (!found) return std::fprintf(stderr, "This machine does not support %s.\n", argv[1]), 2;
        kernels = found;
    }
    std::fprintf(stderr, "%s\n", kernels->name);
    for (const auto& [name, hyperparameters] : RULES)
        for (Link link : {Link::logistic, Link::probit, Link::exponential})
            for (bool online : {false, true}) {
                play(name, link, online, 9, 5, 60);
                play(name, link, online, 40, 17, 30);
                if (link == Link::logistic && !online) play(name, link, online, 300, 4, 12);
            }
}
