// SPDX-License-Identifier: GPL-2.0-or-later
import { useEffect, useState } from 'preact/hooks'

/** A value that several parts of the page follow. */
export class Store<T> {
  #value: T
  #followers = new Set<(value: T) => void>()

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const follower of [...this.#followers]) follower(value)
  }

  /** Calls back at each change, until the function that it answers is called. */
  follow(follower: (value: T) => void): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }
}

export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(() => store.value)
  useEffect(() => {
    setValue(() => store.value)
    return store.follow(next => setValue(() => next))
  }, [store])
  return value
}
