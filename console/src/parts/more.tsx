// SPDX-License-Identifier: GPL-2.0-or-later
import { useEffect, useRef } from 'preact/hooks'
import { Button } from './basic'

/** The end of a list that has more: loads it when it comes into sight, or when asked. */
export function More(props: { more: boolean; loadMore: () => void }) {
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = end.current
    if (!props.more || !element) return
    const watcher = new IntersectionObserver(
      entries => {
        if (entries.some(entry => entry.isIntersecting)) props.loadMore()
      },
      { rootMargin: '600px' },
    )
    watcher.observe(element)
    return () => watcher.disconnect()
  })
  if (!props.more) return null
  return (
    <div class="more" ref={end}>
      <Button onClick={props.loadMore}>Show more</Button>
    </div>
  )
}
