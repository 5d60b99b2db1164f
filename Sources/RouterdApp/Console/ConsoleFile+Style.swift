// swift-format-ignore-file
// Made from Console/style.css by Scripts/embed.py.

extension ConsoleFile {
    static let style = ConsoleFile(
        name: "style.css", contentType: "text/css; charset=utf-8",
        text: ##"""
        :root {
          --back: #fff; --raised: #f6f7f9; --line: #d9dde3; --text: #1b1f24; --soft: #57606a;
          --accent: #0b5cad; --good: #116329; --bad: #a4171d; --wait: #7d4e00; --good-back: #dff3e4; --bad-back: #fbe3e4;
          --mono: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --back: #15181c; --raised: #1e2227; --line: #343a42; --text: #e6e9ed; --soft: #a0a9b4;
            --accent: #79b8ff; --good: #7ee2a0; --bad: #ff9a9e; --wait: #f0c674; --good-back: #173322; --bad-back: #3d1c1f;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
        header { display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: center; padding: .5rem 1rem;
          border-bottom: 1px solid var(--line); background: var(--raised); position: sticky; top: 0; z-index: 1; }
        nav { display: flex; flex-wrap: wrap; gap: .1rem; flex: 1; }
        nav a { color: var(--soft); text-decoration: none; padding: .2rem .5rem; border-radius: 4px; }
        nav a:hover { color: var(--text); }
        nav a[aria-current] { color: var(--back); background: var(--accent); }
        main { padding: 1rem; max-width: 1200px; margin: 0 auto; outline: none; }
        h1 { font-size: 1.2rem; margin: 0 0 .6rem; } h2 { font-size: 1rem; margin: 1.1rem 0 .4rem; }
        a { color: var(--accent); }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
        .skip { position: absolute; left: -99em; } .skip:focus { left: 1rem; top: .5rem; z-index: 2; background: var(--back); }
        .row { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: 0 0 .7rem; } .row > a { align-self: center; }
        label { display: inline-flex; flex-direction: column; gap: .15rem; color: var(--soft); font-size: .85rem; }
        label.scope { flex-direction: row; align-items: center; gap: .4rem; }
        label.wide { flex: 1 1 18rem; } label.block { display: flex; margin: 0 0 .6rem; }
        input, select, textarea, button { font: inherit; color: var(--text); background: var(--back);
          border: 1px solid var(--line); border-radius: 4px; padding: .3rem .5rem; max-width: 100%; }
        textarea { font-family: var(--mono); min-height: 5rem; width: 100%; }
        button { cursor: pointer; background: var(--raised); } button:hover { border-color: var(--accent); }
        button.main { background: var(--accent); color: var(--back); border-color: var(--accent); }
        button.bad { color: var(--bad); border-color: var(--bad); }
        table { border-collapse: collapse; width: 100%; } .scroll { overflow-x: auto; }
        th { text-align: left; color: var(--soft); font-weight: 500; font-size: .8rem; white-space: nowrap; }
        th, td { padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
        td code { display: inline-block; min-width: 8rem; } time { white-space: nowrap; }
        td.number { text-align: right; padding-right: 1.4rem; font-variant-numeric: tabular-nums; }
        code, pre, .mono { font-family: var(--mono); font-size: .86em; overflow-wrap: anywhere; }
        pre { background: var(--raised); border: 1px solid var(--line); border-radius: 4px; padding: .6rem; overflow: auto;
          white-space: pre-wrap; max-height: 26rem; }
        .soft { color: var(--soft); } .good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); }
        .part { border-radius: 3px; padding: 0 .15rem; } .part.yes { background: var(--good-back); color: var(--good); }
        .part.no { background: var(--bad-back); color: var(--bad); }
        .card { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; margin: 0 0 .6rem; }
        .card.chosen { border: 2px solid var(--good); } .card h3 { margin: 0 0 .2rem; font-size: .95rem; } .card h3 .soft { font-weight: 400; font-size: .88rem; }
        .card p { margin: .15rem 0; }
        .tag { border: 1px solid var(--line); border-radius: 9px; padding: 0 .45rem; font-size: .8rem; white-space: nowrap; }
        .figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .6rem; }
        .figures div { background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: .5rem .7rem; }
        .figures b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
        .empty { color: var(--soft); padding: 1.2rem 0; }
        ol.line { list-style: none; padding: 0 0 0 1rem; border-left: 2px solid var(--line); }
        ol.line li { margin: 0 0 .6rem; }
        svg.plot { width: 100%; height: 5rem; background: var(--raised); border: 1px solid var(--line); border-radius: 6px; }
        svg.plot polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
        dialog { color: var(--text); background: var(--back); border: 1px solid var(--line); border-radius: 8px;
          width: min(28rem, 92vw); } dialog::backdrop { background: #0008; } dialog input { width: 100%; }
        #toast { position: fixed; right: 1rem; bottom: 1rem; background: var(--text); color: var(--back);
          padding: .5rem .8rem; border-radius: 6px; max-width: 90vw; } #toast:empty { display: none; }
        @media (max-width: 40rem) {
          header { position: static; padding: .4rem .6rem; } nav { flex: 1 0 100%; order: 3; } main { padding: .7rem .6rem; }
        }
        @media (prefers-reduced-motion: no-preference) { .fresh { animation: fresh 1.2s; } }
        @keyframes fresh { from { background: var(--good-back); } }

        """##)
}
