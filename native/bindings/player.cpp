// A live policy as Python sees it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"

namespace duelist {
namespace {

constexpr double MAX_WEIGHT = 1e15;  // of one vote; `duelist.core.duel` says it in words

// -- arms and duels, by hand: a live round is so short that looking at its arguments counts --

// A view of a C-contiguous (n, dim) array of doubles; `good` is false for anything else.
class ArmsBuffer {
public:
    explicit ArmsBuffer(PyObject* object) {
        if (PyObject_GetBuffer(object, &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
            PyErr_Clear();
            return;
        }
        held_ = true;
        good_ = view_.ndim == 2 && view_.itemsize == sizeof(double) && view_.format && view_.format[0] == 'd' &&
                view_.format[1] == '\0' && reinterpret_cast<std::uintptr_t>(view_.buf) % alignof(double) == 0;
    }
    ~ArmsBuffer() {
        if (held_) PyBuffer_Release(&view_);
    }
    ArmsBuffer(const ArmsBuffer&) = delete;
    ArmsBuffer& operator=(const ArmsBuffer&) = delete;

    bool good() const { return good_; }
    const double* data() const { return static_cast<const double*>(view_.buf); }
    i64 n() const { return view_.shape[0]; }
    i64 dim() const { return view_.shape[1]; }

private:
    Py_buffer view_{};
    bool held_ = false, good_ = false;
};

// The sum of squares of all features: what exceeds this is not finite, or overflows when it is squared.
constexpr double LARGEST_SQUARE = 1e300;

bool tame(const double* numbers, i64 n) { return kernels->dot(numbers, numbers, n) <= LARGEST_SQUARE; }

// The class of duels and the names of its fields; given once by `duelist.policies.engine`.
struct DuelClass {
    PyTypeObject* type = nullptr;
    PyObject *first = nullptr, *second = nullptr, *id = nullptr;
};
DuelClass duels;

void set_duel_class(nb::type_object type) {
    if (!PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type.ptr()), Py_TPFLAGS_HEAPTYPE) ||
        !nb::hasattr(type, "__dataclass_fields__"))
        throw nb::type_error("duels are objects of a dataclass");
    duels.type = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
    duels.first = PyUnicode_InternFromString("first");
    duels.second = PyUnicode_InternFromString("second");
    duels.id = PyUnicode_InternFromString("id");
}

void set_field(PyObject* duel, PyObject* name, i64 value) {
    nb::object number = nb::steal(PyLong_FromLongLong(value));
    if (!number.ptr() || PyObject_GenericSetAttr(duel, name, number.ptr()) != 0) throw nb::python_error();
}

nb::object new_duel(i64 first, i64 second, i64 id) {
    if (!duels.type) throw std::invalid_argument("there is no class of duels yet; import duelist.policies.engine");
    nb::object duel = nb::steal(duels.type->tp_alloc(duels.type, 0));
    if (!duel.ptr()) throw nb::python_error();
    set_field(duel.ptr(), duels.first, first);
    set_field(duel.ptr(), duels.second, second);
    set_field(duel.ptr(), duels.id, id);
    return duel;
}

bool field_of(PyObject* duel, PyObject* name, i64& value) {
    nb::object number = nb::steal(PyObject_GetAttr(duel, name));
    if (!number.ptr()) return PyErr_Clear(), false;
    value = PyLong_AsLongLong(number.ptr());
    return !(value == -1 && PyErr_Occurred()) || (PyErr_Clear(), false);
}

bool number_of(PyObject* object, double& value) {
    value = PyFloat_AsDouble(object);
    return !(value == -1.0 && PyErr_Occurred()) || (PyErr_Clear(), false);
}

// -- a live policy --------------------------------------------------------------------------

// The next duel; None: the arms are not what a fast round can take (say why elsewhere), or nothing may be asked.
nb::object ask(LivePolicy& policy, nb::handle arms, bool distinct) {
    ArmsBuffer view(arms.ptr());
    if (!view.good() || !policy.state || view.n() == 0 || view.dim() != policy.state->dim ||
        !tame(view.data(), view.n() * view.dim()))
        return nb::none();
    i64 id = policy.ask({view.data(), view.n(), view.dim(), distinct});
    if (id < 0) return nb::none();
    const Decision& duel = policy.pending.find(id)->second.duel;
    return new_duel(duel.first, duel.second, id);
}

// Whether the outcome was taken in; false: something about the arguments is wrong, and nothing has changed.
bool tell(LivePolicy& policy, nb::handle duel, nb::handle outcome, nb::handle weight) {
    i64 id, first = -1, second = -1;
    if (Py_TYPE(duel.ptr()) == duels.type) {
        if (!field_of(duel.ptr(), duels.id, id) || !field_of(duel.ptr(), duels.first, first) ||
            !field_of(duel.ptr(), duels.second, second))
            return false;
    } else {
        if (!PyLong_CheckExact(duel.ptr())) return false;
        id = PyLong_AsLongLong(duel.ptr());
        if (id == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
    }
    double value, times;
    if (!number_of(outcome.ptr(), value) || !number_of(weight.ptr(), times)) return false;
    if (!(value >= 0.0 && value <= 1.0) || !(times > 0.0 && times <= MAX_WEIGHT)) return false;
    auto found = policy.pending.find(id);
    if (found == policy.pending.end()) return false;
    const Decision& asked = found->second.duel;
    if (first >= 0 && (first != asked.first || second != asked.second)) return false;
    policy.tell(id, value, times);
    return true;
}

nb::object ask_limited(LivePolicy& policy, Matrix arms, bool distinct, const Pairs& exclude) {
    PairSet out = pair_set(exclude, arms.shape(0));
    i64 id = policy.ask(table_of(policy, arms, distinct, out));
    if (id < 0) return nb::none();
    const Decision& duel = policy.pending.find(id)->second.duel;
    return new_duel(duel.first, duel.second, id);
}

std::tuple<i64, i64, i64, double> consider(LivePolicy& policy, Matrix arms, Matrix differences, Whole layers,
                                           Vector shares, std::optional<Words> words, i64 rounds, bool distinct,
                                           const Pairs& exclude) {
    i64 count = differences.shape(0);
    if (static_cast<i64>(layers.shape(0)) != count || static_cast<i64>(shares.shape(0)) != count ||
        (count > 0 && static_cast<i64>(differences.shape(1)) != known(policy).dim))
        throw std::invalid_argument("pending duels do not fit the policy");
    std::vector<PendingDuel> out;
    if (rounds > MAX_ROUNDS) throw std::invalid_argument("rounds are " + std::to_string(rounds));
    for (i64 k = 0; k < count; k++) {
        if (layers.data()[k] >= policy.most_layers()) throw std::invalid_argument("a pending duel is in no layer");
        out.push_back({differences.data() + k * policy.state->dim, layers.data()[k], shares.data()[k]});
    }
    PairSet pairs = pair_set(exclude, arms.shape(0));
    ArmTable table = table_of(policy, arms, distinct, pairs);
    Decision duel = policy.consider(table, out, words ? words->data() : nullptr, rounds);
    return {duel.first, duel.second, duel.layer, duel.share};
}

bool differs(const Vector& difference) {
    return std::any_of(difference.data(), difference.data() + difference.shape(0), [](double d) { return d != 0.0; });
}

DuelFingerprints who_are(const std::optional<TwoArms>& arms) {
    return arms ? DuelFingerprints{arms->data()[0], arms->data()[1]} : DuelFingerprints{};
}

void learn(LivePolicy& policy, Vector difference, double outcome, double weight, i64 layer, double share,
           std::optional<TwoArms> who) {
    if (static_cast<i64>(difference.shape(0)) != known(policy).dim || layer < -1 || layer >= policy.most_layers())
        throw std::invalid_argument("the outcome does not fit the policy");
    if (!(outcome >= 0.0 && outcome <= 1.0) || !(weight > 0.0 && weight <= MAX_WEIGHT) ||
        !(share >= 0.0 && share < INF))
        throw std::invalid_argument("outcome, weight or share is not what it may be");
    policy.learn(difference.data(), outcome, weight, layer, share, who_are(who));
}

std::tuple<i64, double> place(LivePolicy& policy, Vector difference) {
    if (static_cast<i64>(difference.shape(0)) != known(policy).dim)
        throw std::invalid_argument("the difference does not fit the policy");
    LayerAssignment found = policy.rule->place(*policy.state, difference.data(), policy.workspace());
    return {found.layer, found.share};
}

// Contexts, duels and information of a batch: all contexts in order, or the k of most information. None: a context has no
// pair to ask, and nothing has changed.
nb::object ask_batch(LivePolicy& policy, Cube arms, i64 k, i64 threads, bool distinct, std::optional<Whole> counts) {
    i64 contexts = arms.shape(0), candidates = arms.shape(1), dim = known(policy).dim;
    if (static_cast<i64>(arms.shape(2)) != dim || contexts == 0 || candidates == 0)
        throw std::invalid_argument("the arms do not fit the policy");
    if (counts && static_cast<i64>(counts->shape(0)) != contexts)
        throw std::invalid_argument("the counts do not fit the contexts");
    ContextArms shown{arms.data(), contexts, candidates, dim, counts ? counts->data() : nullptr};
    i64 pairs = 0;
    for (i64 c = 0; c < contexts; c++) {
        if (shown.count(c) < 1 || shown.count(c) > candidates)
            throw std::invalid_argument("the counts do not fit the candidates");
        pairs += shown.pairs_of(c);
    }
    if (k > (policy.rule->designs() && candidates > 1 && candidates < MANY_ARMS ? pairs : contexts))
        throw std::invalid_argument("there is less to choose from than is to be chosen");
    std::optional<BatchDecision> batch;
    PolicyState state = policy.for_batch(shown);  // while nobody else can touch the player
    const DifferenceSet out = policy.pending_differences();
    {
        nb::gil_scoped_release others_go_on;
        batch = decide_batch(*policy.rule, state, shown, out, k, distinct, threads);
    }
    if (!batch) return nb::none();
    nb::list asked;
    policy.state->random = state.random;
    policy.state->rounds += static_cast<i64>(batch->duels.size());
    policy.rule->grow(*policy.state);
    for (std::size_t at = 0; at < batch->duels.size(); at++) {
        const Decision& duel = batch->duels[at];
        i64 id =
            policy.add_pending_duel(duel, {shown.arm(batch->contexts[at], 0), shown.count(batch->contexts[at]), dim});
        asked.append(new_duel(duel.first, duel.second, id));
    }
    return nb::make_tuple(copied(batch->contexts), asked, copied(batch->information));
}

}  // namespace

void bind_player(nb::module_& m) {
    nb::class_<SelectionRule>(m, "Rule")
        .def_prop_ro("local", &SelectionRule::local)
        .def_prop_ro("draws", &SelectionRule::draws)
        .def_prop_ro("takes_own_terms", &SelectionRule::supports_arm_effects)
        .def_prop_ro("designs", &SelectionRule::designs);
    m.def(
        "make_rule",
        [](const std::string& policy, const std::map<std::string, double>& hyperparameters) {
            return std::shared_ptr<SelectionRule>(make_selection_rule(policy, Hyperparameters(hyperparameters)));
        },
        "policy"_a, "settings"_a);
    m.def("rule_names", &selection_rule_names);
    nb::class_<LivePolicy>(m, "Player")
        .def(
            "__init__",
            [](LivePolicy* self, std::shared_ptr<SelectionRule> rule) {
                if (!rule) throw std::invalid_argument("a player needs a rule");
                new (self) LivePolicy(std::move(rule));
            },
            "rule"_a)
        .def("begin", &LivePolicy::begin, "state"_a)
        .def("ask", &ask, "arms"_a.none(), "distinct"_a)
        .def("tell", &tell, "duel"_a.none(), "outcome"_a.none(), "weight"_a.none())
        .def("ask_limited", &ask_limited, "arms"_a, "distinct"_a, "exclude"_a)
        .def("ask_batch", &ask_batch, "arms"_a, "k"_a, "threads"_a, "distinct"_a, "counts"_a = nb::none())
        .def("consider", &consider, "arms"_a, "differences"_a, "layers"_a, "shares"_a, "words"_a.none(), "rounds"_a,
             "distinct"_a, "exclude"_a)
        .def("learn", &learn, "difference"_a, "outcome"_a, "weight"_a, "layer"_a, "share"_a, "who"_a = nb::none())
        .def("place", &place, "difference"_a)
        .def(
            "forget", [](LivePolicy& policy, i64 id) { return policy.pending.erase(id) == 1; }, "number"_a)
        .def(
            "estimate",
            [](LivePolicy& policy, i64 layer) {
                Layer& at = layer_of(policy, layer);
                if (at.fit_status == FitStatus::unfinished) at.fit_status = FitStatus::outdated;
                return copied(policy.state->theta(layer, policy.workspace().solver), {known(policy).dim});
            },
            "layer"_a)
        .def(
            "factor",
            [](LivePolicy& policy, i64 layer) {
                i64 dim = known(policy).dim;
                return copied(layer_of(policy, layer).factor.data(), {dim, dim});
            },
            "layer"_a)
        .def(
            "local_curvature",
            [](LivePolicy& policy, i64 layer) {
                layer_of(policy, layer);
                PolicyState copy = known(policy);  // looking leaves no trace
                return copied(copy.local_curvature(layer, policy.workspace().solver), {copy.dim, copy.dim});
            },
            "layer"_a)
        .def(
            "radius",
            [](LivePolicy& policy, i64 layer) {
                layer_of(policy, layer);
                policy.rule->prepare(*policy.state, policy.workspace());
                return policy.state->layer(layer).radius;
            },
            "layer"_a)
        .def_prop_ro(
            "state", [](LivePolicy& policy) -> std::optional<PolicyState> { return policy.state; }, nb::rv_policy::move)
        .def_prop_ro("dim", [](LivePolicy& policy) { return policy.state ? policy.state->dim : 0; })
        .def_prop_ro("rounds", [](LivePolicy& policy) { return policy.state ? policy.state->rounds : 0; })
        .def_prop_ro("most_layers", &LivePolicy::most_layers)
        .def_prop_rw(
            "next_id", [](LivePolicy& policy) { return policy.next_id; },
            [](LivePolicy& policy, i64 number) {
                if (number < 0 || number > MAX_ROUNDS)
                    throw std::invalid_argument("next_id is " + std::to_string(number));
                policy.next_id = number;
            })
        .def_prop_ro(
            "learned",
            [](LivePolicy& policy) {
                std::vector<double> learned;
                for (const Layer& layer : known(policy).layers) learned.push_back(layer.learned);
                return copied(learned);
            },
            nb::rv_policy::move)
        .def("pending",
             [](LivePolicy& policy) {
                 nb::list out;
                 std::vector<i64> ids;
                 for (const auto& [id, duel] : policy.pending) ids.push_back(id);
                 std::sort(ids.begin(), ids.end());
                 for (i64 id : ids) {
                     const AskedDuel& p = policy.pending.at(id);
                     u64 who[] = {p.arms.first, p.arms.second};
                     out.append(nb::make_tuple(id, p.duel.first, p.duel.second, p.duel.layer, p.duel.share,
                                               copied(p.difference), copied(who, {2})));
                 }
                 return out;
             })
        .def("pending_ids",
             [](LivePolicy& policy) {
                 std::vector<i64> ids;
                 for (const auto& [id, duel] : policy.pending) ids.push_back(id);
                 std::sort(ids.begin(), ids.end());
                 return ids;
             })
        .def(
            "asked_as",
            [](LivePolicy& policy, i64 id) -> std::optional<std::pair<i64, i64>> {
                auto found = policy.pending.find(id);
                if (found == policy.pending.end()) return std::nullopt;
                return std::pair(found->second.duel.first, found->second.duel.second);
            },
            "number"_a)
        .def(
            "put_pending",
            [](LivePolicy& policy, i64 id, i64 first, i64 second, i64 layer, double share, Vector difference,
               std::optional<TwoArms> who) {
                if (static_cast<i64>(difference.shape(0)) != known(policy).dim || layer < -1 ||
                    layer >= policy.state->n_layers() || !tame(difference.data(), policy.state->dim) || id < 0 ||
                    id >= policy.next_id || first < 0 || second < 0 || !(share >= 0.0 && share < INF) ||
                    (who && who->data()[0] == who->data()[1] && who_are(who).known() && differs(difference)))
                    throw std::invalid_argument("pending duel " + std::to_string(id) + " does not fit the state");
                AskedDuel out{{first, second, layer, share},
                              std::vector<double>(difference.data(), difference.data() + difference.shape(0)),
                              who_are(who)};
                policy.pending.insert_or_assign(id, std::move(out));
            },
            "number"_a, "first"_a, "second"_a, "layer"_a, "share"_a, "difference"_a, "who"_a = nb::none());
    m.def("set_duel_class", &set_duel_class, "cls"_a);
}

}  // namespace duelist
