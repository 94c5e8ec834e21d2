// The questions that the server answers, each with the use case of the command of its name: the
// answer is what the command's --json prints, byte by byte.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/api/question_fields.h"
#include "study/progress.h"

namespace dfsim::server {

// One question with its options. Each request makes its own.
class Question {
 public:
  Question() = default;
  virtual ~Question() = default;
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  // Targets are members of the question.
  virtual QuestionFields fields() = 0;
  // `model` is the path of the model's file. Errors: those of the use case, Progress's.
  virtual StatusOr<std::string> answer(const std::string& model, const Progress& progress) = 0;
};

struct QuestionKind {
  std::string_view name;  // of the command, and of the path /v1/NAME
  std::string_view summary;
  bool has_html;  // the answer can be a page
  std::unique_ptr<Question> (*make)();
};

const std::vector<QuestionKind>& question_kinds();

}  // namespace dfsim::server
