#include "cli/cluster_access.h"

#include <sys/stat.h>

#include <utility>

#include "core/base/cat.h"
#include "core/cluster/certificate.h"
#include "core/cluster/token.h"
#include "core/graph/source.h"
#include "core/pipeline_stage.h"

namespace emplace {
namespace {

Result<std::string> pem_file(const std::string& file, bool is_secret) {
  struct stat facts = {};
  if (is_secret && stat(file.c_str(), &facts) == 0 && (facts.st_mode & 077) != 0)
    return invalid_argument(cat(file, ": others can read this key; make it yours alone: chmod 600 ", file));
  ASSIGN_OR_RETURN(const auto source, Source::open(file));
  std::string text(source->text());
  if (text.find("-----BEGIN ") == text.npos) return invalid_argument(cat(file, ": this is no PEM file"));
  return text;
}

Status read_tls(const ClusterAccess& access, TransportOptions& options) {
  const bool some = !access.tls_cert.empty() || !access.tls_key.empty() || !access.tls_ca.empty();
  if (!some) return ok_status();
  if (access.tls_cert.empty() || access.tls_key.empty() || access.tls_ca.empty())
    return invalid_argument("--tls-cert, --tls-key and --tls-ca go together: both ends show a certificate");
  ASSIGN_OR_RETURN(options.tls_cert, pem_file(access.tls_cert, false));
  if (const Status valid = check_validity(options.tls_cert, utc_now()); !valid.ok())
    return invalid_argument(cat(access.tls_cert, ": ", valid.message()));
  ASSIGN_OR_RETURN(options.tls_key, pem_file(access.tls_key, true));
  ASSIGN_OR_RETURN(options.tls_ca, pem_file(access.tls_ca, false));
  return ok_status();
}

}  // namespace

void declare_cluster_access(OptionSet& set, ClusterAccess& access) {
  set.text("token-file", "FILE", "What tasks and clients share (default: one of yours, made at the first use)",
           access.token_file);
  set.text("tls-cert", "FILE", "Encrypted connections: the certificate that this end shows (PEM)", access.tls_cert);
  set.text("tls-key", "FILE", "Its key, which nobody else can read", access.tls_key);
  set.text("tls-ca", "FILE", "Who has to have signed the other end's certificate", access.tls_ca);
  set.value("connect-timeout", "SECONDS", "How long to wait for tasks that are not there (default 30)",
            set_number(access.connect_timeout_s));
  set.value("heartbeat", "SECONDS", "How often a silent task is asked (default 5)", set_number(access.heartbeat_s));
  set.value("dead-after", "SECONDS", "How long a task may be silent (default 15)", set_number(access.dead_after_s));
}

Result<TransportOptions> transport_options(const ClusterAccess& access) {
  if (!(access.heartbeat_s > 0) || !(access.dead_after_s > access.heartbeat_s) || access.dead_after_s > 1e6)
    return invalid_argument("--heartbeat must be positive, and --dead-after longer").blamed(Blame::kUsage);
  TransportOptions options;
  options.heartbeat_s = access.heartbeat_s, options.dead_after_s = access.dead_after_s;
  Result<std::string> token = cluster_token(access.token_file, environment_variable);
  if (!token.ok()) return token.status().with_context("--token-file").blamed(Blame::kUsage);
  options.token = token.take();
  if (const Status tls = read_tls(access, options); !tls.ok()) return tls.blamed(Blame::kUsage);
  return options;
}

}  // namespace emplace
