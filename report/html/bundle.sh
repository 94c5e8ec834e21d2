#!/usr/bin/env bash
# Rebuilds echarts.min.js: the parts of Apache ECharts that app.js uses, in one script. Needs npm;
# the build of dfsim does not, because the result is kept here with its licence.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/echarts_entry.js" "$work/entry.js"
cd "$work"
npm init -y >/dev/null
npm install --no-fund --no-audit echarts@5.5.1 esbuild@0.21.5
./node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=echarts \
  --target=es2018 --legal-comments=none "--define:process.env.NODE_ENV=\"production\"" \
  "--outfile=$here/echarts.min.js"
