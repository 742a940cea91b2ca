/** Candidate sites of one release: where they are, their names, and their answers; kept in this tab. */

export class CandidateSites extends EventTarget {
  constructor(release) {
    super();
    this.place = `milepost.sites.${release.id}`;
    /** @type {{id: number, letter: string, name: string, point: number[], value?: number, error?: number}[]} */
    this.all = [];
    try {
      const stored = JSON.parse(sessionStorage.getItem(this.place) ?? "[]");
      for (const { name, point } of stored) this.#append(point, name);
    } catch {
      sessionStorage.removeItem(this.place);
    }
  }

  #append(point, name) {
    const used = new Set(this.all.map((site) => site.letter));
    const letter = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].find((candidate) => !used.has(candidate)) ?? "•";
    const id = 1 + Math.max(0, ...this.all.map((site) => site.id));
    const site = { id, letter, name: name || `Site ${letter}`, point };
    this.all.push(site);
    return site;
  }

  /** A new site. */
  add(point, name = "") {
    const site = this.#append(point, name);
    this.#changed("places");
    return site;
  }

  move(site, point) {
    site.point = point;
    this.#changed("places");
  }

  rename(site, name) {
    site.name = name.trim() || `Site ${site.letter}`;
    this.#changed("names");
  }

  remove(site) {
    this.all = this.all.filter((other) => other !== site);
    this.#changed("places");
  }

  /** Take over answers; a site that moved on meanwhile keeps its old one until the next. */
  answer(asked, values, errors, joint) {
    asked.forEach((site, index) =>
      Object.assign(site, { value: values[index], error: errors[index], joint: joint[index] }),
    );
    this.#changed("answers");
  }

  /** The answers are for something else now, another group say. */
  ask() {
    this.#changed("places");
  }

  /** Sites with an answer, the nearest first. */
  ranked() {
    return this.all.filter((site) => site.value !== undefined).sort((one, other) => one.value - other.value);
  }

  /** Whether noise alone may be why `site` is behind `first`: intervals that hold for all sites at once do meet. */
  static tied(first, site) {
    return site.value - site.joint <= first.value + first.joint;
  }

  #changed(what) {
    sessionStorage.setItem(this.place, JSON.stringify(this.all.map(({ name, point }) => ({ name, point }))));
    this.dispatchEvent(new CustomEvent("change", { detail: what }));
  }
}
