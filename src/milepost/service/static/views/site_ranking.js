/** A ranking of sites by mean distance, with error bars on one scale and ties. */

import { element } from "../dom.js";
import { amount, brief, decimals, fixed, pointText } from "../numbers.js";
import { CandidateSites } from "../candidate_sites.js";

export class SiteRanking {
  /**
   * @param {CandidateSites} sites
   * @param {string} unit
   */
  constructor(sites, unit) {
    this.sites = sites;
    this.unit = unit;
    this.rows = new Map();
    this.list = element("ol", { class: "ranking", "aria-label": "Sites, the nearest first" });
    this.scale = element("p", { class: "scale", "aria-hidden": "true" });
    this.verdict = element("p", { class: "verdict", "aria-live": "polite" });
    this.empty = element(
      "p",
      { class: "hint" },
      "To compare sites, click on the map and choose “Add site here”, or type coordinates. You can drag the pins.",
    );
    this.root = element("div", {}, this.empty, this.list, this.scale, this.verdict);
    sites.addEventListener("change", () => this.show());
    this.show();
  }

  show() {
    const { all } = this.sites;
    this.empty.hidden = all.length > 0;
    const ranked = this.sites.ranked();
    const order = [...ranked, ...all.filter((site) => site.value === undefined)];
    for (const [site, row] of this.rows) {
      if (all.includes(site)) continue;
      row.root.remove();
      this.rows.delete(site);
    }
    for (const site of all) if (!this.rows.has(site)) this.rows.set(site, this.#row(site));
    const rows = order.map((site) => this.rows.get(site).root);
    const moved = rows.some((row, index) => this.list.children[index] !== row);
    const renaming = this.list.contains(document.activeElement) && this.list.children.length === rows.length;
    if (moved && !renaming) this.list.replaceChildren(...rows); // rows do not move while a name is edited
    const low = Math.min(...ranked.map((site) => site.value - site.error));
    const high = Math.max(...ranked.map((site) => site.value + site.error));
    const pad = 0.06 * (high - low);
    const share = (value) => `${(100 * (value - low + pad)) / (high - low + 2 * pad || 1)}%`;
    ranked.forEach((site, index) => this.#fill(site, index, ranked, share));
    this.scale.hidden = ranked.length < 2;
    this.list.classList.toggle("alone", ranked.length < 2);
    if (ranked.length > 1) {
      const digits = Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(high - low || 1))));
      const last = `${fixed(high, digits)}${this.unit && ` ${this.unit}`}`;
      this.scale.replaceChildren(element("span", {}, fixed(low, digits)), element("span", {}, last));
    }
    this.verdict.textContent = this.#verdict(ranked);
  }

  #row(site) {
    const row = {
      rank: element("span", { class: "rank" }),
      badge: element("span", { class: "badge", "aria-hidden": "true" }, site.letter),
      name: element("input", {
        class: "name",
        value: site.name,
        maxlength: 60,
        "aria-label": `Name of site ${site.letter}`,
        onchange: (event) => this.sites.rename(site, event.target.value),
        onkeydown: (event) => event.key === "Enter" && event.target.blur(),
        onblur: () => setTimeout(() => this.show()),
      }),
      value: element("span", { class: "value" }, "…"),
      behind: element("span", { class: "behind" }),
      where: element("span", { class: "where" }),
      whisker: element("span", { class: "whisker" }),
      dot: element("span", { class: "dot" }),
    };
    const remove = element(
      "button",
      {
        type: "button",
        class: "remove",
        "aria-label": `Remove site ${site.letter}`,
        onclick: () => this.sites.remove(site),
      },
      "×",
    );
    row.root = element(
      "li",
      { data: { site: site.letter } },
      element("div", { class: "ranking-head" }, row.rank, row.badge, row.name, row.behind, remove),
      element("div", { class: "strip", "aria-hidden": "true" }, row.whisker, row.dot),
      element("div", { class: "ranking-foot" }, row.value, row.where),
    );
    row.where.textContent = pointText(site.point);
    return row;
  }

  #fill(site, index, ranked, share) {
    const row = this.rows.get(site);
    const first = ranked[0];
    const tied = index > 0 && CandidateSites.tied(first, site);
    const isShared = ranked.length > 1 && (tied || (index === 0 && CandidateSites.tied(first, ranked[1])));
    row.rank.textContent = isShared ? "1 =" : String(index + 1);
    row.root.classList.toggle("first", index === 0 || tied);
    row.value.textContent = amount(site.value, site.error, this.unit);
    Object.assign(row.value.dataset, { value: site.value, error: site.error });
    row.where.textContent = pointText(site.point);
    row.where.dataset.point = JSON.stringify(site.point);
    const gap = site.value - first.value;
    const unit = this.unit && ` ${this.unit}`;
    row.behind.textContent =
      index === 0 ? "" : tied ? "a tie" : `+ ${fixed(gap, Math.min(decimals(site.error), 4))}${unit}`;
    row.dot.style.left = share(site.value);
    row.whisker.style.left = share(site.value - site.error);
    row.whisker.style.right = `calc(100% - ${share(site.value + site.error)})`;
  }

  #verdict(ranked) {
    if (ranked.length < 2) return "";
    const [first, second] = ranked;
    const unit = this.unit && ` ${this.unit}`;
    const close = ranked.filter((site) => site === first || CandidateSites.tied(first, site));
    if (close.length > 1) {
      const names = close.map((site) => site.name);
      const listed = `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
      return `A tie between ${listed}: the differences are smaller than the noise.`;
    }
    const ahead = `${brief(second.value - first.value)}${unit}`;
    return `${first.name} is nearest, ${ahead} ahead of ${second.name}. The difference is larger than the noise.`;
  }
}
