// The jobs as they go. Without this script the page is read anew by hand.
"use strict";
const list = document.getElementById("jobs");
const said = document.getElementById("said");
const states = JSON.parse(list.dataset.states);
const tenths = new Map();

function shows(job) {
  const item = list.querySelector(`[data-job="${Number(job.number)}"]`);
  const known = item !== null && item.dataset.state === job.state;
  return known && (item.querySelector("progress") !== null) === (open(job) && job.total > 0);
}

function open(job) {
  return job.state === "waiting" || job.state === "running";
}

function follow(job) {
  const item = list.querySelector(`[data-job="${Number(job.number)}"]`);
  const bar = item.querySelector("progress");
  if (bar === null) return;
  bar.max = job.total;
  bar.value = job.done;
  const amount = list.dataset.of
    .replace("{done}", job.done.toLocaleString("en"))
    .replace("{total}", job.total.toLocaleString("en"));
  item.querySelector(".amount").textContent = amount;
  const tenth = Math.floor((10 * job.done) / job.total);
  if (tenths.get(job.number) !== tenth) {
    tenths.set(job.number, tenth);
    said.textContent = `${job.operation} ${states[job.state]}: ${amount}`;
  }
}

async function redraw(jobs) {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  list.replaceChildren(...page.getElementById("jobs").children);
  said.textContent = jobs.slice(0, 1).map((one) => `${one.operation} ${states[one.state]}`).join();
}

const source = new EventSource(list.dataset.events);
source.onopen = () => { document.getElementById("live").hidden = false; };
source.onerror = () => { document.getElementById("live").hidden = true; };
source.onmessage = async (event) => {
  const jobs = JSON.parse(event.data);
  if (!jobs.every(shows)) await redraw(jobs);
  jobs.filter((one) => open(one) && shows(one)).forEach(follow);
};
