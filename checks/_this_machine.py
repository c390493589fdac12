"""What is said of this machine, where the job may be meant for another one."""

from preflight.finding import Location

THIS_MACHINE = Location(name="this machine")
ELSEWHERE = "Not the machine it will run on? preflight run --elsewhere"
