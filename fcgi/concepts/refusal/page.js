"use strict";
// Asks whether a server listens by now. The header tells the gate to answer by itself: such a
// question neither reaches the application nor wakes a paused sandbox. But the gate asks the agent
// of a running sandbox, which keeps an idle one awake: so the page stops after ten minutes.
(() => {
  const patience = 600000;
  const note = document.getElementById("waiting");
  let pause = 700;
  let timer = 0;
  let until = Date.now() + patience;

  function end(text) {
    note.textContent = text;
    note.className = "over";
  }

  function later() {
    if (Date.now() > until) {
      end("No server has started for ten minutes. Load this page again to wait longer.");
      return;
    }
    pause = Math.min(pause * 1.2, 4000);
    timer = document.hidden ? 0 : setTimeout(ask, pause);
  }

  async function ask() {
    try {
      const answer = await fetch(location.href, {
        headers: { "X-Sandlot-Poll": "1" }, cache: "no-store", redirect: "manual",
      });
      if (answer.status === 204) {
        location.reload();
        return;
      }
      const code = (await answer.json()).error;
      if (code === "sandbox_not_running") {
        end("The sandbox has been paused in the meantime. Load this page again to go on.");
        return;
      }
      if (answer.status === 401 || answer.status === 404) {
        location.reload();
        return;
      }
    } catch {
      // Away for the moment; the next question may get through.
    }
    later();
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !timer && note.className !== "over") {
      pause = 700;
      until = Date.now() + patience;
      ask();
    }
  });
  timer = setTimeout(ask, pause);
})();
