"""The text of `perfledger --help`: every command in one line, grouped by what one wants."""

HELP = """\
perfledger: performance-regression CI for GPU and TPU code that prices every change.

Usage: perfledger COMMAND [OPTIONS]      perfledger COMMAND --help says more

Measure and judge
  check         measure, judge, explain and price a change of the repository here
  report        judge, explain and price a result bundle again, from its file
  submit        upload a result bundle to the service
  recall        ask the service how much earlier pairs differed, for a check without its token
  suspects      print the A/Bs that a service asks for, as commands to run
  workloads     list the registered workloads
  load          drive a workload as a server's clients would: throughput against P50, P95, P99

Look at what was measured
  detect        find where a history moved: CSV, JSON or a folder of bundles
  compare       compare two bundles, or two files of runs, that were not measured in pairs
  power         say which changes so many pairs find, and how many pairs a change needs

Look at profiler files (torch, JAX, nsys, ncu, nccl-tests, dcgm)
  trace         summary, diff, whatif, mfu: where a step's time goes, why it changed

Set up
  init          write a configuration, an example workload and a GitHub workflow
  config show   print every setting with its value and where it comes from

Price
  cost compare  say what an hour or a piece of work costs owned and on every way to buy it
  cost tco      say what owning a server costs a year, and what that depends on most
  cost project  say how fast and dear a workload would be on devices that it was not measured on
  cost cover    say what hours are billed under reservations and savings plans
  cost energy   say what accelerator-hours take and emit, by location and by market
  cost change   say what a change costs a year: a bundle's, or a ratio with its interval
  cost fleet    turn accounting, metrics or a bill into the device-hours that workloads stand for
  prices        list, check, update and diff price sheets; read a bill
  review        write the quarter's procurement review: HTML, PDF, XLSX, FOCUS CSV, JSON

Plan and share the hardware
  cost queue    say how long jobs wait for so many devices, and how many would be enough
  cost simulate replay a job log under other scheduling policies: waits, use, what they would gain
  cost rightsize
                say which devices, how many and how run keep a P99 at a rate at least cost
  cost forecast say what the next months or weeks need and cost, and when a budget is spent
  cost window   say when a job that can wait emits or costs least, by hourly values
  cost allocate say who pays what of a bill: used, idle and shared, by team and project, to the cent
  cost utilization
                say how well devices are used, by whom, and what could be given back

Serve
  serve         run the service: uploads, comments, checks and pages
  db upgrade    bring the database to the newest version
  project       add a project and print its upload token; list; revoke
  import        keep usage, activity, jobs, load curves for the costs' --store; list; remove

Exit codes of check, report and compare: 0 no regression, 1 regression or above a cost limit,
2 usage or configuration, 3 undecided, not measured or a cost to approve, 4 internal.
"""
