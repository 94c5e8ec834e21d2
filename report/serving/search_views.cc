// Text, JSON and CSV of searches over deployments.
#include <fmt/format.h>

#include "base/text.h"
#include "base/text_table.h"
#include "report/serving/serving_views.h"

namespace dfsim::inline report {
namespace {

// "2 x (tp 1) > 6 x (tp 1)" for prefill and decode apart.
std::string short_layout(const DeploymentCandidate& candidate) {
  std::string text = candidate.layout();
  if (candidate.disaggregated) {
    text.erase(0, std::string("prefill ").size());
    const std::string word = ", decode ";
    text.replace(text.find(word), word.size(), " > ");
  }
  return text;
}

}  // namespace

std::string search_text(const DeploymentSearch& search, size_t top) {
  std::string text = fmt::format("{} deployments, {} loads in all; {} could not be served\n\n",
                                 search.deployments, search.candidates.size(), search.failed);
  if (search.front.empty()) {
    return text + search.why_none() + "\n";
  }
  TextTable table({{"deployment"},
                   {"weights"},
                   {"users", Align::kRight},
                   {"TTFT ms", Align::kRight},
                   {"TPOT ms", Align::kRight},
                   {"tok/s/GPU", Align::kRight},
                   {"$/M tok", Align::kRight}});
  bool apart = false;
  for (size_t i = search.front.size(); i > 0 && search.front.size() - i < top; --i) {
    const DeploymentCandidate& c = search.candidates[search.front[i - 1]];
    table.add_row({short_layout(c), llm_precision_name(c.precisions.mlp), std::to_string(c.users),
                   fmt::format("{:.4g}", c.ttft_ms.value), fmt::format("{:.4g}", c.tpot_ms.value),
                   fmt::format("{:.4g}", c.tokens_per_s_per_gpu.value),
                   c.dollars_per_million_tokens
                       ? fmt::format("{:.3g}", c.dollars_per_million_tokens->value)
                       : "-"});
    apart = apart || c.disaggregated;
  }
  table.drop_empty_columns();  // no price given
  return text + "Pareto front, most tokens per GPU first:\n" + table.render(text_width(), 0) +
         (apart ? "A > B: A computes prompts and sends their cache to B, which decodes\n" : "");
}

std::string search_json(const DeploymentSearch& search) {
  JsonTree candidates = JsonTree::array();
  for (const DeploymentCandidate& c : search.candidates) {
    JsonTree one = {{"layout", c.layout()},
                    {"precision", llm_precision_name(c.precisions.mlp)},
                    {"disaggregated", c.disaggregated},
                    {"gpus", c.gpus},
                    {"users", c.users}};
    if (c.max_sequences > 0) {
      one["max_num_seqs"] = c.max_sequences;
    }
    if (!c.failure.empty()) {
      one["failure"] = c.failure;
    } else {
      one["ttft_ms"] = estimate_json(c.ttft_ms);
      one["tpot_ms"] = estimate_json(c.tpot_ms);
      one["tokens_per_s"] = estimate_json(c.tokens_per_s);
      one["tokens_per_s_per_gpu"] = estimate_json(c.tokens_per_s_per_gpu);
      one["tokens_per_s_per_user"] = c.tokens_per_s_per_user;
      if (c.dollars_per_million_tokens) {
        one["dollars_per_million_tokens"] = estimate_json(*c.dollars_per_million_tokens);
      }
      one["within_limits"] = c.within_limits;
      one["on_front"] = c.on_front;
    }
    candidates.push_back(std::move(one));
  }
  JsonTree json = {{"schema", "dfsim.llm-search/1"},
                   {"deployments", search.deployments},
                   {"failed", search.failed},
                   {"front", search.front},
                   {"candidates", std::move(candidates)}};
  if (search.best) {
    json["best"] = *search.best;
  } else {
    json["why_none"] = search.why_none();
  }
  if (search.nearest) {
    json["nearest"] = *search.nearest;
  }
  return json.text();
}

std::string search_csv(const DeploymentSearch& search) {
  std::string text =
      "layout,precision,gpus,users,ttft_ms,tpot_ms,tokens_per_s,tokens_per_s_per_gpu,"
      "dollars_per_million_tokens,within_limits,on_front,failure\n";
  for (const DeploymentCandidate& c : search.candidates) {
    text += fmt::format(
        "{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{},{:d},{:d},{}\n", csv_field(c.layout()),
        llm_precision_name(c.precisions.mlp), c.gpus, c.users, c.ttft_ms.value, c.tpot_ms.value,
        c.tokens_per_s.value, c.tokens_per_s_per_gpu.value,
        c.dollars_per_million_tokens ? fmt::format("{:.6g}", c.dollars_per_million_tokens->value)
                                     : "",
        c.within_limits, c.on_front, csv_field(c.failure));
  }
  return text;
}

}  // namespace dfsim::inline report
