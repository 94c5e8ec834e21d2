// Shared by all functions of the Python module: errors, options by name, progress.
//
// Options are written through tables of names, as on the command line: an unknown name is a
// TypeError with the nearest valid one. Work is done without the interpreter's lock. Progress is
// reported with the lock held, and there a pending signal (Ctrl-C) ends the work.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "study/chain/model_source.h"
#include "study/chain/training_choice.h"
#include "study/progress.h"

namespace nb = nanobind;

namespace dfsim::python {

// A Status on its way to Python.
struct StatusError : std::exception {
  explicit StatusError(Status error) : status(std::move(error)) {}
  const char* what() const noexcept override { return status.message().c_str(); }

  Status status;
};

inline void raise_status(const std::exception_ptr& error, void* /*payload*/) {
  try {
    std::rethrow_exception(error);
  } catch (const StatusError& caught) {
    const char* name = "FailedError";
    switch (caught.status.code()) {
      case StatusCode::kInvalidInput:
        name = "InvalidInputError";
        break;
      case StatusCode::kNotFound:
        name = "NotFoundError";
        break;
      case StatusCode::kUnsupported:
        name = "UnsupportedError";
        break;
      default:
        break;
    }
    const nb::object type = nb::module_::import_("dfsim._errors").attr(name);
    PyErr_SetString(type.ptr(), caught.what());
  }
}

inline void check(Status status) {
  if (!status.ok()) {
    throw StatusError(std::move(status));
  }
}

template <typename T>
T value_or_throw(StatusOr<T> result) {
  if (!result.ok()) {
    throw StatusError(result.status());
  }
  return std::move(result).value();
}

// Options by name, each with the variable that takes it.
class OptionNames {
 public:
  template <typename T>
  OptionNames& add(const char* name, T* target) {
    setters_[name] = [target, name](nb::handle value) {
      try {
        *target = nb::cast<T>(value);
      } catch (const nb::cast_error&) {
        const std::string type = nb::cast<std::string>(nb::str(value.type().attr("__name__")));
        throw nb::type_error(
            (std::string(name) + ": found a value of type " + type + ", expected " + expected<T>())
                .c_str());
      }
    };
    return *this;
  }

  void read(const nb::dict& options) const {
    for (const auto& [key, value] : options) {
      const auto name = nb::cast<std::string>(key);
      const auto setter = setters_.find(name);
      if (setter == setters_.end()) {
        std::vector<std::string> names;
        for (const auto& entry : setters_) {
          names.push_back(entry.first);
        }
        throw nb::type_error(unknown_name_message("option", name, names).c_str());
      }
      if (!value.is_none()) {
        setter->second(value);
      }
    }
  }

 private:
  template <typename T>
  static std::string expected() {
    if constexpr (std::is_same_v<T, bool>) {
      return "True or False";
    } else if constexpr (std::is_integral_v<T>) {
      return std::is_signed_v<T> ? "a whole number" : "a whole number from 0 on";
    } else if constexpr (std::is_floating_point_v<T>) {
      return "a number";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return "a text";
    } else {
      return "a list";
    }
  }

  std::map<std::string, std::function<void(nb::handle)>> setters_;
};

inline void add_model(ModelOptions* model, OptionNames* names) {
  names->add("model", &model->path)
      .add("batch", &model->batch)
      .add("dims", &model->dims)
      .add("input_shapes", &model->input_shapes)
      .add("trip_counts", &model->trip_counts)
      .add("branch", &model->branch)
      .add("signature", &model->signature)
      .add("precision", &model->precision)
      .add("strict", &model->strict);
}

inline void add_training(TrainingChoice* training, OptionNames* names) {
  names->add("mode", &training->mode)
      .add("optimizer", &training->optimizer)
      .add("recompute", &training->recompute);
}

inline void check_training(const TrainingChoice& training) {
  if (training.mode != "infer" && training.mode != "train") {
    throw StatusError(
        invalid_input(unknown_name_message("mode", training.mode, {"infer", "train"})));
  }
}

// Calls the user's function, if any, and looks for signals. The first exception ends the work and
// is raised again by finish().
class PythonProgress {
 public:
  explicit PythonProgress(nb::object callback) : callback_(std::move(callback)) {}

  Progress callbacks() {
    Progress progress;
    progress.on_stage = [this](const std::string& step) { return call("stage", step); };
    progress.on_note = [this](const std::string& line) { (void)call("note", line); };
    return progress;
  }

  // Keeps an exception of the user's code, with the lock; the first one counts.
  Status keep(nb::python_error& error) {
    if (!error_.has_value()) {
      error_.emplace(std::move(error));
    }
    return failed("cancelled");
  }

  // With the lock: what a callback or a signal raised comes before the status that it caused.
  void finish() {
    if (error_.has_value()) {
      throw nb::python_error(*error_);
    }
  }

 private:
  Status call(const char* kind, const std::string& text) {
    const nb::gil_scoped_acquire lock;
    if (error_.has_value()) {
      return failed("cancelled");
    }
    try {
      if (PyErr_CheckSignals() != 0) {
        nb::raise_python_error();
      }
      if (!callback_.is_none()) {
        callback_(kind, text);
      }
      return ok_status();
    } catch (nb::python_error& error) {
      return keep(error);
    }
  }

  nb::object callback_;
  std::optional<nb::python_error> error_;
};

// Runs `work`, which takes a Progress, without the interpreter's lock.
template <typename Work>
auto run_unlocked(PythonProgress& progress, const Work& work) {
  std::optional<decltype(work(Progress()))> result;
  {
    const nb::gil_scoped_release unlocked;
    result.emplace(work(progress.callbacks()));
  }
  progress.finish();
  return value_or_throw(std::move(*result));
}

template <typename Work>
auto run(const nb::object& callback, const Work& work) {
  PythonProgress progress(callback);
  return run_unlocked(progress, work);
}

// prediction_binding.cc
void bind_prediction(nb::module_& module);

}  // namespace dfsim::python
