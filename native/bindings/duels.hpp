// Arms and duels of a live round. A round takes microseconds, so these conversions bypass nanobind.
#pragma once

#include <mutex>

#include "bindings/arrays.hpp"

namespace duelist {

// Holds a policy until the end of the scope. Another thread that wants it waits without the interpreter lock, and so
// stops nobody who uses other policies.
class Exclusive {
public:
    template <typename Policy>
    explicit Exclusive(const Policy& policy) : lock_(policy.in_use.mutex, std::try_to_lock) {
        if (lock_.owns_lock()) return;
        nb::gil_scoped_release release;
        lock_.lock();
    }

private:
    std::unique_lock<std::recursive_mutex> lock_;
};

// A C-contiguous (n, dim) array of doubles; `is_valid` is false for any other object.
class ArmsBuffer {
public:
    explicit ArmsBuffer(PyObject* object) {
        if (PyObject_GetBuffer(object, &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
            PyErr_Clear();
            return;
        }
        is_held_ = true;
        is_valid_ = view_.ndim == 2 && view_.itemsize == sizeof(double) && view_.format && view_.format[0] == 'd' &&
                    view_.format[1] == '\0' && reinterpret_cast<std::uintptr_t>(view_.buf) % alignof(double) == 0;
    }
    ~ArmsBuffer() {
        if (is_held_) PyBuffer_Release(&view_);
    }
    ArmsBuffer(const ArmsBuffer&) = delete;
    ArmsBuffer& operator=(const ArmsBuffer&) = delete;

    bool is_valid() const { return is_valid_; }
    const double* data() const { return static_cast<const double*>(view_.buf); }
    i64 n() const { return view_.shape[0]; }
    i64 dim() const { return view_.shape[1]; }

private:
    Py_buffer view_{};
    bool is_held_ = false, is_valid_ = false;
};

// An instance of `Duel`, in type stubs.
class DuelObject : public nb::object {
    static bool is_any(PyObject*) { return true; }
    NB_OBJECT_DEFAULT(DuelObject, nb::object, "duelist.core.duel.Duel", is_any)
};

// The Python class of duels and the names of its fields, which `set_duel_class` sets.
struct DuelClass {
    PyTypeObject* type = nullptr;
    allocfunc allocate = nullptr;
    PyObject *first = nullptr, *second = nullptr, *id = nullptr;

    void set(nb::type_object cls) {
        if (!PyType_HasFeature(reinterpret_cast<PyTypeObject*>(cls.ptr()), Py_TPFLAGS_HEAPTYPE) ||
            !nb::hasattr(cls, "__dataclass_fields__"))
            throw nb::type_error("The class of duels must be a dataclass.");
        type = reinterpret_cast<PyTypeObject*>(cls.inc_ref().ptr());
        allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
        first = PyUnicode_InternFromString("first");
        second = PyUnicode_InternFromString("second");
        id = PyUnicode_InternFromString("id");
    }

    DuelObject make(i64 first_position, i64 second_position, i64 number) const {
        if (!type) throw std::invalid_argument("The class of duels is not set. Import duelist.policies.engine first.");
        DuelObject duel(nb::handle(allocate(type, 0)), nb::detail::steal_t{});
        if (!duel.ptr()) throw nb::python_error();
        set_field(duel.ptr(), first, first_position);
        set_field(duel.ptr(), second, second_position);
        set_field(duel.ptr(), id, number);
        return duel;
    }

private:
    static void set_field(PyObject* duel, PyObject* name, i64 value) {
        nb::object number = nb::steal(PyLong_FromLongLong(value));
        if (!number.ptr() || PyObject_GenericSetAttr(duel, name, number.ptr()) != 0) throw nb::python_error();
    }
};

inline DuelClass duel_class;

// -- conversions that return false instead of raising an exception

inline bool read_integer(PyObject* object, i64& value) {
    value = PyLong_AsLongLong(object);
    return !(value == -1 && PyErr_Occurred()) || (PyErr_Clear(), false);
}

inline bool read_double(PyObject* object, double& value) {
    value = PyFloat_AsDouble(object);
    return !(value == -1.0 && PyErr_Occurred()) || (PyErr_Clear(), false);
}

inline bool read_field(PyObject* duel, PyObject* name, i64& value) {
    nb::object number = nb::steal(PyObject_GetAttr(duel, name));
    if (!number.ptr()) return PyErr_Clear(), false;
    return read_integer(number.ptr(), value);
}

}  // namespace duelist
