// SPDX-License-Identifier: GPL-2.0-or-later
import { useEffect, useRef } from 'preact/hooks'

/** Ways to the parts of a page: [address, words]. On a narrow screen they scroll, and the current one is in sight. */
export function Tabs(props: { label: string; ways: [string, string][]; current: string }) {
  const frame = useRef<HTMLElement>(null)
  useEffect(() => {
    const nav = frame.current
    if (!nav) return
    const watcher = new ResizeObserver(() => {
      const link = nav.querySelector('[aria-current]')
      if (!link) return
      const [shown, wanted] = [nav.getBoundingClientRect(), link.getBoundingClientRect()]
      nav.scrollLeft += Math.max(0, wanted.right - shown.right) + Math.min(0, wanted.left - shown.left)
    })
    watcher.observe(nav)
    return () => watcher.disconnect()
  }, [props.current])
  return (
    <nav ref={frame} class="tabs" aria-label={props.label}>
      <ul>
        {props.ways.map(([path, words]) => (
          <li key={path}>
            <a href={path} data-keep-focus="" aria-current={path === props.current ? 'page' : undefined}>
              {words}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
