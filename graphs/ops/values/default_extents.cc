// Tables of names and places with the extent that such a dimension usually has. The dimension's
// name decides; where an exporter made it up, the rank and the element type of the input do.
#include "graphs/ops/values/default_extents.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>

#include "base/text.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kSequence = kUsualSequence;
constexpr int64_t kImageSide = 224;
constexpr int64_t kWaveform = 16000;  // one second at 16 kHz
constexpr int64_t kFrames = 16;

struct NamedExtent {
  std::string_view name;  // lower case
  int64_t extent;
};

// Whole names of symbols.
constexpr std::array kWholeNames = {
    NamedExtent{"h", kImageSide},       NamedExtent{"w", kImageSide},
    NamedExtent{"hh", kImageSide},      NamedExtent{"ww", kImageSide},
    NamedExtent{"rows", kImageSide},    NamedExtent{"cols", kImageSide},
    NamedExtent{"columns", kImageSide}, NamedExtent{"t", kSequence},
    NamedExtent{"l", kSequence},        NamedExtent{"s", kSequence},
    NamedExtent{"len", kSequence},      NamedExtent{"f", kFrames},
};

// Parts of symbols' names; the first that matches wins.
constexpr std::array kNameParts = {
    NamedExtent{"sample", kWaveform},  NamedExtent{"waveform", kWaveform},
    NamedExtent{"audio", kWaveform},   NamedExtent{"past", kSequence},
    NamedExtent{"seq", kSequence},     NamedExtent{"length", kSequence},
    NamedExtent{"_len", kSequence},    NamedExtent{"len_", kSequence},
    NamedExtent{"frame", kFrames},     NamedExtent{"time", kSequence},
    NamedExtent{"token", kSequence},   NamedExtent{"context", kSequence},
    NamedExtent{"height", kImageSide}, NamedExtent{"width", kImageSide},
};

// Parts of an input's name that tell of a waveform.
constexpr std::array<std::string_view, 7> kWaveformInputs = {
    "wav", "audio", "input_values", "signal", "speech", "samples", "pcm"};
// Parts of the names of a state that a model keeps from step to step.
constexpr std::array<std::string_view, 4> kCacheInputs = {"past", "cache", "present", "mem"};

// Parts of the names of a recurrent network's state.
constexpr std::array<std::string_view, 5> kStateInputs = {"state", "hidden", "cell", "h0", "c0"};

// Parts of the names of a transformer's output, with one state per position.
constexpr std::array<std::string_view, 2> kSequenceOfStates = {"hidden_states", "last_hidden"};

bool contains_any(const std::string& text, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

bool is_open(const DimUse& use, int axis) { return !use.shape[axis].known(); }

// The number at an axis, or -1.
int64_t known_extent(const DimUse& use, int axis) {
  return use.shape[axis].known() ? use.shape[axis].extent() : -1;
}

bool is_colour_count(int64_t extent) { return extent == 1 || extent == 3 || extent == 4; }

// Mono or stereo sound.
bool is_channel_count(int64_t extent) { return extent == 1 || extent == 2; }

// [batch, length], or a mask of scores.
int64_t extent_in_matrix(const DimUse& use, const std::string& input) {
  const bool samples = is_floating(use.dtype) && input.find("mask") == std::string::npos;
  return samples || contains_any(input, kWaveformInputs) ? kWaveform : kSequence;
}

// [batch, length, features], [batch, channels, length], an image without a batch, or the state
// [layers, batch, features] of a recurrent network.
int64_t extent_in_cube(const DimUse& use, const std::string& input) {
  if (known_extent(use, 0) >= 1 && use.axis == 1 && known_extent(use, 2) > 0 &&
      contains_any(input, kStateInputs) && !contains_any(input, kSequenceOfStates)) {
    return 1;
  }
  if (is_colour_count(known_extent(use, 0)) && is_open(use, 1) && is_open(use, 2)) {
    return kImageSide;
  }
  const int channel_axis = 3 - use.axis;
  if (is_channel_count(known_extent(use, channel_axis))) {
    return use.axis == 2 || contains_any(input, kWaveformInputs) ? kWaveform : kSequence;
  }
  // With 80 features on the other axis, "audio" has frames of a spectrogram.
  const bool both_open = is_open(use, channel_axis) && contains_any(input, kWaveformInputs);
  return !both_open ? kSequence : use.axis == 2 ? kWaveform : 1;
}

// [batch, channels, height, width] or [batch, height, width, channels]; with one open axis a cache
// [batch, heads, length, size].
int64_t extent_in_image(const DimUse& use, const std::string& input) {
  if (contains_any(input, kCacheInputs)) {
    return kSequence;
  }
  if (is_open(use, 2) && is_open(use, 3)) {
    return use.axis == 1 ? 3 : kImageSide;
  }
  const bool channels_last =
      is_open(use, 1) && is_open(use, 2) && is_colour_count(known_extent(use, 3));
  return channels_last || (is_open(use, 3) && use.axis == 3) ? kImageSide : kSequence;
}

// [batch, channels, frames, height, width] or [batch, frames, channels, height, width].
int64_t extent_in_video(const DimUse& use) { return use.axis >= 3 ? kImageSide : kFrames; }

// [batch, sequence_length] of "input_values": the sequence is one of samples.
bool is_waveform(const DimUse& use) {
  return use.shape.rank() == 2 && use.axis == 1 && is_floating(use.dtype) &&
         contains_any(to_lower(use.input), kWaveformInputs);
}

int64_t extent_by_place(const DimUse& use) {
  if (use.axis == 0 || !use.shape.has_rank()) {
    return 1;
  }
  const std::string input = to_lower(use.input);
  switch (use.shape.rank()) {
    case 2:
      return extent_in_matrix(use, input);
    case 3:
      return extent_in_cube(use, input);
    case 4:
      return extent_in_image(use, input);
    case 5:
      return extent_in_video(use);
    default:
      return 1;
  }
}

}  // namespace

bool is_batch_name(const std::string& symbol) {
  const std::string lower = to_lower(symbol);
  constexpr std::array<std::string_view, 4> kExact = {"n", "b", "bs", "none"};
  return lower.find("batch") != std::string::npos ||
         std::find(kExact.begin(), kExact.end(), lower) != kExact.end();
}

bool is_made_up_name(const std::string& symbol) {
  const std::string lower = to_lower(symbol);
  constexpr std::array<std::string_view, 8> kPrefixes = {"s",   "dim",   "dim_",  "d",
                                                         "unk", "unk__", "axis_", "dynamic_axes_"};
  for (const std::string_view prefix : kPrefixes) {
    if (lower.starts_with(prefix) && all_digits(std::string_view(lower).substr(prefix.size()))) {
      return true;
    }
  }
  return lower == "?" || lower == "-1" || lower.ends_with(']') ||
         lower.find("_dim_") != std::string::npos ||
         lower.find("dynamic_axes") != std::string::npos;
}

int64_t default_extent(const DimUse& use) {
  if (is_batch_name(use.symbol)) {
    return 1;
  }
  if (!is_made_up_name(use.symbol)) {
    const std::string lower = to_lower(use.symbol);
    for (const NamedExtent& named : kWholeNames) {
      if (lower == named.name) {
        return named.extent;
      }
    }
    for (const NamedExtent& named : kNameParts) {
      if (lower.find(named.name) != std::string::npos) {
        return named.extent == kSequence && is_waveform(use) ? kWaveform : named.extent;
      }
    }
  }
  return extent_by_place(use);
}

}  // namespace dfsim::inline graphs
