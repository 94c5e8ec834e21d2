// The Trace Event Format of programs that no other dialect knows: spans without a meaning of their
// own.
#include "datasets/traces/chrome/chrome_dialect.h"

namespace dfsim::inline datasets {
namespace {

class PlainDialect : public ChromeDialect {
 public:
  std::string_view name() const override { return "chrome"; }
  bool claims(const ChromeEvent& /*event*/) const override { return false; }
  bool claims_field(std::string_view /*key*/) const override { return false; }
  bool describe(const ChromeEvent& /*event*/, Trace* /*trace*/, Span* span) const override {
    span->kind = SpanKind::kOp;
    return true;
  }
  bool read_other(const ChromeEvent& /*event*/, Trace* /*trace*/) const override { return false; }
  void read_field(std::string_view /*key*/, std::string_view /*json*/,
                  Trace* /*trace*/) const override {}
  void finish(Trace* /*trace*/) const override {}
};

}  // namespace

std::unique_ptr<ChromeDialect> make_plain_dialect() { return std::make_unique<PlainDialect>(); }

}  // namespace dfsim::inline datasets
