// SPDX-License-Identifier: GPL-2.0-or-later
// Pictures beside words, on a ground of 16 by 16. They say nothing that the words do not say.
const SHAPES = {
  bars: 'M3 14V9M8 14V3M13 14V6',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.5 14.5h3',
  box: 'M2 5l6-3 6 3v6l-6 3-6-3zM2 5l6 3 6-3M8 8v6',
  branch:
    'M4 2a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3zM12 2a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3zM8 11a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3zM4 5v3h8V5M8 8v3',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5',
  disk: 'M13.5 4c0 1.1-2.5 2-5.5 2S2.5 5.1 2.5 4 5 2 8 2s5.5.9 5.5 2zv8c0 1.1-2.5 2-5.5 2s-5.5-.9-5.5-2V4',
  down: 'M8 2v8M4.5 7L8 10.5 11.5 7M3 13.5h10',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  folder: 'M2 3.5h4l1.5 2H14v7.5H2z',
  key: 'M10.5 2a3.5 3.5 0 1 1-1.7 6.6L7 10.4V12H5v2H2v-2.5l5.1-5.1A3.5 3.5 0 0 1 10.5 2z',
  layers: 'M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3',
  link: 'M9 2h5v5M14 2L7.5 8.5M12 9v4.5H2.5V4H7',
  lock: 'M3.5 7h9v7h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
  mark: 'M4 2h8v12l-4-3-4 3z',
  menu: 'M2 4h12M2 8h12M2 12h12',
  pause: 'M5.5 3v10M10.5 3v10',
  pencil: 'M3 13l.6-3L11 2.6l2.4 2.4L6 12.4zM9.5 4.1l2.4 2.4',
  people:
    'M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5C1.5 11 3.5 10 6 10s4.5 1 4.5 3.5M11 3.2a2.4 2.4 0 0 1 0 4.6M12.3 10.3c1.4.5 2.2 1.5 2.2 3.2',
  play: 'M5 3l8 5-8 5z',
  plus: 'M8 3v10M3 8h10',
  refresh: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6L14 14',
  server: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  terminal: 'M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10.5h3',
  trash: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9',
  up: 'M8 10.5v-8M4.5 6L8 2.5 11.5 6M3 13.5h10',
}

export type IconName = keyof typeof SHAPES

export function Icon(props: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={SHAPES[props.name]} />
    </svg>
  )
}
